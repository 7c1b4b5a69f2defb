#include "nereus/control/bottleneck.h"

#include <gmock/gmock.h>

namespace nereus::control {
namespace {

using plan::Role;
using plan::Stage;
using testing::DoubleNear;
using testing::HasSubstr;

StageObservation stage(plan::Stage what, double start, double end, std::vector<RankSpan> ranks = {}) {
  return {.what = {Role::actor, what}, .start = start, .end = end, .ranks = std::move(ranks)};
}

// Idle ratio misleads: from timestamps, with the bottleneck by stage [verl 6693, 7601].
TEST(Usage, Fault63_OneSharedPoolIsIdleOnlyWhileItWaits) {
  const Usage found = usage({stage(Stage::generate, 0, 60, {{0, 0, 60}, {1, 0, 30}}),
                             stage(Stage::train, 60, 100, {{0, 60, 100}, {1, 60, 100}})});
  EXPECT_THAT(found.idle, DoubleNear(30.0 / 200, 1e-9));
  EXPECT_EQ(found.bottleneck, 0u);
  EXPECT_THAT(found.stages[0].waiting, DoubleNear(0.25, 1e-9));
  EXPECT_THAT(found.stages[1].waiting, DoubleNear(0, 1e-9));
  EXPECT_THAT(found.text, HasSubstr("actor generate bounds the step: 60.0 of 100.0 s"));
}

// The stages' seconds add up to 180 s of a step of 100 s: added up, nothing would seem idle.
TEST(Usage, Fault63_StagesAtTheSameTimeAreNotAddedUp) {
  const Usage found = usage({stage(Stage::generate, 0, 100, {{0, 0, 100}, {1, 0, 100}}),
                             stage(Stage::train, 20, 100, {{2, 20, 60}, {3, 20, 60}})});
  EXPECT_THAT(found.idle, DoubleNear(120.0 / 400, 1e-9));
  EXPECT_EQ(found.bottleneck, 0u);
}

TEST(Usage, Fault63_OverlappingSpansOfADeviceCountOnce) {
  const Usage found =
      usage({stage(Stage::generate, 0, 80, {{0, 0, 80}}), stage(Stage::train, 40, 100, {{0, 40, 100}})});
  EXPECT_THAT(found.idle, DoubleNear(0, 1e-9));
}

TEST(Usage, Fault63_TheBusierPoolIsTheBottleneckThoughTheOtherStageIsLonger) {
  // Generation spans the step but half of it waits for prompts; training works without a pause.
  const Usage found = usage({stage(Stage::generate, 0, 100, {{0, 0, 25}, {0, 75, 100}}),
                             stage(Stage::train, 10, 100, {{1, 10, 100}})});
  EXPECT_EQ(found.bottleneck, 1u);
}

TEST(Usage, WithoutRanksAStageIsOneDevice) {
  const Usage found = usage({stage(Stage::generate, 0, 60), stage(Stage::train, 60, 100)});
  EXPECT_EQ(found.bottleneck, 0u);
  EXPECT_THAT(found.idle, DoubleNear(0.5, 1e-9));
}

}  // namespace
}  // namespace nereus::control
