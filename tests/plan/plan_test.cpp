#include "nereus/plan/plan.h"

#include <gtest/gtest.h>

#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

TEST(LayersOfStage, EarlierStagesHaveMoreAndNothingIsLost) {
  for (const int64_t layers : {1, 7, 32, 33, 80}) {
    for (int32_t pp = 1; pp <= layers && pp <= 16; ++pp) {
      int64_t next = 0;
      for (int32_t index = 0; index < pp; ++index) {
        const LayerRange range = layers_of_stage(layers, pp, index);
        EXPECT_EQ(range.first, next);
        EXPECT_GE(range.count(), layers / pp);
        EXPECT_LE(range.count(), layers / pp + 1);
        next = range.last;
      }
      EXPECT_EQ(next, layers);
    }
  }
  EXPECT_EQ(layers_of_stage(33, 4, 0).count(), 9);
  EXPECT_EQ(layers_of_stage(33, 4, 1).count(), 8);
}

TEST(Placement, InWords) {
  Placement placement = placed({Role::actor, Stage::train}, {2, 2, 4});
  placement.micro_batch = 2;
  placement.recompute = true;
  EXPECT_EQ(to_string(placement),
            "actor train: dp 2, pp 2, tp 4 on 16 devices 0-15, micro-batch 2, recompute, zero 1");
  Placement one = placed({Role::actor, Stage::generate}, {1, 1, 1}, 3);
  one.leaves_when_idle = true;
  EXPECT_EQ(to_string(one), "actor generate: dp 1, pp 1, tp 1 on 1 device 3, leaves when idle");
  one.layout = {1, 1, 4};
  one.devices = {9, 1, 3, 2};
  one.leaves_when_idle = false;
  EXPECT_EQ(to_string(one), "actor generate: dp 1, pp 1, tp 4 on 4 devices 1-3, 9");
}

TEST(Plan, FindsPlacements) {
  const Plan plan{{placed({Role::actor, Stage::train}, {1, 1, 1})}};
  EXPECT_EQ(plan.find({Role::actor, Stage::train}), plan.placements.data());
  EXPECT_EQ(plan.find({Role::critic, Stage::train}), nullptr);
}

TEST(StateOf, MicroBatchesAndRecomputationDoNotMatter) {
  Plan a{{{.what = {Role::actor, Stage::train}, .devices = {0, 1}, .layout = {2, 1, 1}}}}, b = a;
  b.placements[0].micro_batch = 8;
  b.placements[0].recompute = true;
  EXPECT_NE(a, b);
  EXPECT_EQ(state_of(a), state_of(b));
  b.placements[0].zero = 3;
  EXPECT_NE(state_of(a), state_of(b));
}

}  // namespace
}  // namespace nereus::plan
