#include "nereus/control/deadline.h"

#include <gmock/gmock.h>

namespace nereus::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Phase generate() {
  Phase phase{.what = {plan::Role::actor, plan::Stage::generate}, .start = 1000, .deadline = 180};
  for (int32_t rank = 0; rank < 8; ++rank)
    phase.ranks.push_back({.rank = rank, .device = 8 + rank, .finished = true, .done = 1, .heard = 1050});
  return phase;
}

TEST(Deadline, IsAMultipleOfThePredictionAndNeverTooShort) {
  EXPECT_EQ(deadline_seconds(100, 0), 300);
  EXPECT_EQ(deadline_seconds(100, 0.1), 360);
  EXPECT_EQ(deadline_seconds(1, 0.1), 60);
}

TEST(Deadline, BeforeItNothingIsOverdue) {
  Phase phase = generate();
  phase.ranks[3].finished = false;
  EXPECT_FALSE(overdue(phase, 1180).has_value());
}

// Hangs at the second rollout: a deadline for each phase that names the stuck rank [verl 3873].
TEST(Deadline, Fault56_NamesTheStuckRank) {
  Phase phase = generate();
  phase.ranks[3] = {.rank = 3, .device = 11, .finished = false, .done = 0.4, .heard = 1020};
  const auto found = overdue(phase, 1200);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->stuck, ElementsAre(3));
  EXPECT_EQ(found->text,
            "actor generate: 200 s of at most 180 s; rank 3 on device 11 (40 % done, silent for 180 s) is "
            "stuck; 7 of 8 "
            "ranks have finished");
}

TEST(Deadline, Fault56_ARankThatNeverReportedIsSilentSinceTheStart) {
  Phase phase = generate();
  phase.ranks[5] = {.rank = 5, .device = 13};
  const auto found = overdue(phase, 1300);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->text, HasSubstr("rank 5 on device 13 (0 % done, silent for 300 s)"));
}

TEST(Deadline, Fault56_WhoIsSlowIsNotCalledStuckBesideOneThatIs) {
  Phase phase = generate();
  phase.ranks[1] = {.rank = 1, .device = 9, .done = 0.8, .heard = 1199};
  phase.ranks[2] = {.rank = 2, .device = 10, .done = 0.1, .heard = 1015};
  phase.ranks[6] = {.rank = 6, .device = 14, .done = 0.1, .heard = 1010};
  EXPECT_THAT(overdue(phase, 1200)->stuck, ElementsAre(6, 2));
}

TEST(Deadline, Fault56_SlowRanksAreNamedWhereNoneIsStuck) {
  Phase phase = generate();
  phase.ranks[1] = {.rank = 1, .device = 9, .done = 0.8, .heard = 1199};
  const auto found = overdue(phase, 1200);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->text, HasSubstr("still works"));
}

TEST(Deadline, ManyRanksAreCounted) {
  Phase phase = generate();
  for (RankProgress& rank : phase.ranks) rank.finished = false, rank.heard = 0;
  EXPECT_THAT(overdue(phase, 1300)->text, HasSubstr("and 4 more"));
}

}  // namespace
}  // namespace nereus::control
