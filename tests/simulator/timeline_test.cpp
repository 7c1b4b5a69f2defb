#include "nereus/simulator/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace nereus::simulator {
namespace {

using testing::SizeIs;

WorldOptions world(double notice = 30, double boot = 60) {
  WorldOptions options;
  options.notice_seconds = notice;
  options.boot_seconds = boot;
  return options;
}

TEST(Timeline, FollowsTheTraceWithNoticeAndBoot) {
  const Timeline timeline(Availability({{0, 4}, {1000, 2}, {2000, 3}, {5000, 3}}), 4, world(), 4000, 1);
  EXPECT_THAT(timeline.usable(0), SizeIs(4));
  EXPECT_THAT(timeline.usable(969), SizeIs(4));
  EXPECT_THAT(timeline.usable(970), SizeIs(2));  // two are known to leave
  EXPECT_THAT(timeline.usable(2059), SizeIs(2));
  EXPECT_THAT(timeline.usable(2060), SizeIs(3));  // one has booted
  EXPECT_EQ(timeline.next_change(0), 970);
  EXPECT_EQ(timeline.next_change(970), 2060);
}

TEST(Timeline, LossesOfUsedMachines) {
  const Timeline timeline(Availability({{0, 4}, {1000, 2}, {5000, 2}}), 4, world(), 4000, 1);
  const auto kept = timeline.usable(970);
  EXPECT_FALSE(timeline.first_loss(kept, 900, 1100));
  const auto loss = timeline.first_loss({0, 1, 2, 3}, 900, 1100);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->time, 1000);
  EXPECT_EQ(loss->notice, 970);
  EXPECT_THAT(loss->machines, SizeIs(2));
  EXPECT_FALSE(timeline.first_loss({0, 1, 2, 3}, 900, 999));  // a step that ends before is kept
  EXPECT_EQ(timeline.first_loss({0, 1, 2, 3}, 990, 1100)->notice, 990);
}

TEST(Timeline, SeedDecidesWhichLeave) {
  const Availability trace({{0, 16}, {1000, 8}, {5000, 8}});
  const Timeline a(trace, 16, world(), 4000, 1), b(trace, 16, world(), 4000, 1),
      c(trace, 16, world(), 4000, 2);
  EXPECT_EQ(a.usable(1500), b.usable(1500));
  EXPECT_NE(a.usable(1500), c.usable(1500));
  EXPECT_THAT(c.usable(1500), SizeIs(8));
}

TEST(Timeline, FailuresComeWithoutNoticeAndEnd) {
  WorldOptions options = world();
  options.failures_per_machine_day = 4;
  options.repair_seconds = 1000;
  const Timeline timeline(Availability({{0, 8}}), 8, options, 86400, 3);
  int failures = 0;
  for (int32_t machine = 0; machine < 8; ++machine)
    for (double time = 0; time < 86400;) {
      const auto loss = timeline.first_loss({machine}, time, 86400);
      if (!loss) break;
      ++failures;
      EXPECT_EQ(loss->notice, loss->time);
      time = loss->time + options.repair_seconds;
      const auto usable = timeline.usable(time + 1);
      EXPECT_TRUE(std::ranges::find(usable, machine) != usable.end());
    }
  EXPECT_GT(failures, 12);
  EXPECT_LT(failures, 60);
  EXPECT_TRUE(std::isinf(timeline.next_change(1e9)));
}

}  // namespace
}  // namespace nereus::simulator
