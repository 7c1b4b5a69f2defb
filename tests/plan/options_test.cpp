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
  int64_t priced = 0;
  EXPECT_TRUE(options_on(grpo(llama_70b()), kTrain, *grids_.find(8, 1, 100), 72e9, {}, priced).empty());
  EXPECT_EQ(priced, 0);
}

TEST_F(OptionsOnAGrid, NoneIsBeatenByAnother) {
  int64_t priced = 0;
  const Job job = grpo(llama_8b());
  const auto options = options_on(job, kTrain, *grids_.find(2, 1, 100), 72e9, {}, priced);
  EXPECT_GT(options.size(), 2);
  EXPECT_LT(static_cast<int64_t>(options.size()), priced);
  for (const Option& a : options) {
    for (const Option& b : options) {
      if (&a == &b || a.shards_weights() != b.shards_weights()) continue;
      if (a.placement.leaves_when_idle != b.placement.leaves_when_idle) continue;
      EXPECT_FALSE(a.seconds < b.seconds && a.most_running < b.most_running && a.most_idle <= b.most_idle);
    }
  }
}

TEST_F(OptionsOnAGrid, ArePricedLikeTheirPlacements) {
  int64_t priced = 0;
  const Job job = grpo(llama_8b());
  for (const Option& option : options_on(job, kTrain, *grids_.find(2, 2, 100), 72e9, {}, priced)) {
    const Placement placement = placement_of(option);
    EXPECT_DOUBLE_EQ(option.seconds, stage_time(cluster_, job, placement, 0, {}).total());
    const Ledger running = footprint(job, placement, 0).running;
    EXPECT_DOUBLE_EQ(option.needs[0].weights + option.needs[0].running, running.total());
  }
}

}  // namespace
}  // namespace nereus::plan
