#include "nereus/plan/options.h"

#include <gtest/gtest.h>

#include "nereus/plan/memory.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

constexpr ModelStage kTrain{Role::actor, Stage::train};

class OptionsOnAGrid : public testing::Test {
 protected:
  cluster::Cluster cluster_ = machines_of(a100(), 1);
  GridSet grids_{cluster_, {0, 1, 2, 3, 4, 5, 6, 7}};
  Calibration calibration_;
};

TEST_F(OptionsOnAGrid, EverythingThatIsConsidered) {
  Job job = grpo(llama_8b());
  job.prompts = 4;  // 32 sequences, 8 on each of 4 replicas
  const Grid& grid = *grids_.find(2, 1, 100);
  // Micro-batches 1, 2, 4, 8; recomputation; ZeRO 0 to 3; leaving.
  EXPECT_EQ(placements_on(job, kTrain, grid).size(), 4 * 2 * 4 * 2);
  EXPECT_EQ(placements_on(job, {Role::actor, Stage::infer}, grid).size(), 4 * 2);
  EXPECT_EQ(placements_on(job, {Role::actor, Stage::generate}, grid).size(), 2);
  job.prompts = 6;  // 12 sequences on each replica: 1, 2, 4, 8 and 12
  EXPECT_EQ(placements_on(job, {Role::actor, Stage::infer}, grid).size(), 5 * 2);
  job.prompts = 4;
  // One replica has nothing to shard over.
  EXPECT_EQ(placements_on(job, kTrain, *grids_.find(8, 1, 100)).size(), 6 * 2 * 2);
}

TEST_F(OptionsOnAGrid, WhatDoesNotFitAloneIsDropped) {
  const Job job = grpo(llama_70b());
  OptionMaker maker(job, calibration_);
  EXPECT_TRUE(maker.options_on(kTrain, *grids_.find(8, 1, 100), 72e9).empty());
  EXPECT_EQ(maker.priced(), 0);
}

TEST_F(OptionsOnAGrid, NoneIsBeatenByAnother) {
  const Job job = grpo(llama_8b());
  OptionMaker maker(job, calibration_);
  const auto options = maker.options_on(kTrain, *grids_.find(2, 1, 100), 72e9);
  EXPECT_GT(options.size(), 2);
  EXPECT_LT(static_cast<int64_t>(options.size()), maker.priced());
  for (const Option& a : options) {
    for (const Option& b : options) {
      if (&a == &b || a.shards_weights() != b.shards_weights()) continue;
      if (a.placement.leaves_when_idle != b.placement.leaves_when_idle) continue;
      EXPECT_FALSE(a.seconds < b.seconds && a.most_running < b.most_running && a.most_idle <= b.most_idle);
    }
  }
}

TEST_F(OptionsOnAGrid, ArePricedLikeTheirPlacements) {
  const Job job = grpo(llama_8b());
  for (const Option& option :
       OptionMaker(job, calibration_).options_on(kTrain, *grids_.find(2, 2, 100), 72e9)) {
    const Placement placement = placement_of(option);
    EXPECT_DOUBLE_EQ(option.seconds, stage_time(cluster_, job, placement, 0, {}).total());
    const Ledger running = footprint(job, placement, 0).running;
    EXPECT_DOUBLE_EQ(option.needs[0].weights + option.needs[0].running, running.total());
  }
}

TEST_F(OptionsOnAGrid, AreTheSameWhateverTheMakerHasMadeBefore) {
  const Job job = grpo(llama_8b());
  calibration_.factors[{Operation::train, "actor/tp2/pp2"}] = 1.5;
  OptionMaker maker(job, calibration_);
  maker.options_on(kTrain, *grids_.find(2, 1, 100), 72e9);
  for (const Grid* grid : {grids_.find(2, 2, 100), grids_.find(2, 2, 1), grids_.find(2, 1, 100)}) {
    const auto after = maker.options_on(kTrain, *grid, 72e9);
    const auto alone = OptionMaker(job, calibration_).options_on(kTrain, *grid, 72e9);
    ASSERT_EQ(after.size(), alone.size());
    for (size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(after[i].placement, alone[i].placement);
      EXPECT_EQ(after[i].needs, alone[i].needs);
      EXPECT_EQ(after[i].seconds, alone[i].seconds);
    }
  }
}

}  // namespace
}  // namespace nereus::plan
