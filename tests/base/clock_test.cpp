#include "nereus/base/clock.h"

#include <gtest/gtest.h>

namespace nereus {
namespace {

class TurnedClock final : public Clock {
 public:
  double now() const override { return time; }
  double time = 5;
};

TEST(SteadyClock, NeverGoesBack) {
  const SteadyClock clock;
  double last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const double now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Stopwatch, LapsAddUp) {
  TurnedClock clock;
  const Stopwatch whole(clock);
  Stopwatch part(clock);
  clock.time += 2;
  EXPECT_EQ(part.lap(), 2);
  clock.time += 3;
  EXPECT_EQ(part.seconds(), 3);
  EXPECT_EQ(part.lap(), 3);
  EXPECT_EQ(whole.seconds(), 5);
}

}  // namespace
}  // namespace nereus
