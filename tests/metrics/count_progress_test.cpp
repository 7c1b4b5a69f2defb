#include "nereus/metrics/count_progress.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/metrics/manual_clock.h"

namespace nereus::metrics {
namespace {

TEST(CountProgress, ABarThatGoesAwayOnATerminal) {
  ManualClock clock;
  std::ostringstream out;
  CountProgress progress(
      out, clock, {.live = true, .color = false, .unicode = false, .width = 80, .file = -1}, "evaluate", 200);
  progress.update(1);
  EXPECT_EQ(out.str(), "") << "too soon";
  clock.time += 2;
  progress.update(50);
  EXPECT_EQ(out.str(), "evaluate ######.................. 50/200  6.0 s left\n");
  out.str("");
  progress.end();
  EXPECT_EQ(out.str(), "\x1b[1A\r\x1b[J");
}

TEST(CountProgress, ALineEveryTenSecondsElsewhere) {
  ManualClock clock;
  std::ostringstream out;
  CountProgress progress(out, clock, {}, "evaluate", 200);
  for (int i = 1; i <= 25; ++i) {
    clock.time += 1;
    progress.update(i * 4);
  }
  progress.end();
  EXPECT_EQ(out.str(), "evaluate 40/200  left 40 s\nevaluate 80/200  left 30 s\n");
}

}  // namespace
}  // namespace nereus::metrics
