#include <gtest/gtest.h>

#include <algorithm>

#include "nereus/plan/memory.h"
#include "nereus/plan/work.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

/// GRPO on eight devices: generation on tp 2, the rest on tp 4.
Plan grpo_plan() {
  return {{placed({Role::actor, Stage::generate}, {4, 1, 2}), placed({Role::actor, Stage::infer}, {2, 1, 4}),
           placed({Role::actor, Stage::train}, {2, 1, 4})}};
}

TEST(Moments, EveryStageOfEveryDevice) {
  const auto all = moments(machines_of(h100(), 2), grpo(llama_8b()), grpo_plan());
  ASSERT_EQ(all.size(), 24);
  EXPECT_EQ(all[0].device, 0);
  EXPECT_EQ(to_string(all[1].stage), "actor infer");
  EXPECT_EQ(all[23].device, 7);
  EXPECT_EQ(all[0].limit, 0.90 * 80e9);
}

TEST(Moments, IdleStateOfOthersIsThere) {
  const Job job = grpo(llama_8b());
  const Plan plan = grpo_plan();
  const auto all = moments(machines_of(h100(), 1), job, plan);
  const Footprint generate = footprint(job, plan.placements[0], 0),
                  infer = footprint(job, plan.placements[1], 0),
                  train = footprint(job, plan.placements[2], 0);
  // While it infers: weights of generation, and those that inference and training share, once.
  const double expected = generate.idle.total() + infer.running.total() + train.idle.total() -
                          train.idle[Component::weights] + h100().context;
  EXPECT_DOUBLE_EQ(all[1].ledger.total(), expected);
  EXPECT_EQ(all[1].ledger[Component::context], h100().context);
}

TEST(Moments, WhatLeavesIsNotThere) {
  const Job job = grpo(llama_8b());
  Plan plan = grpo_plan();
  const auto before = moments(machines_of(h100(), 1), job, plan);
  plan.placements[0].leaves_when_idle = true;
  const auto after = moments(machines_of(h100(), 1), job, plan);
  const double weights = footprint(job, plan.placements[0], 0).idle.total();
  EXPECT_DOUBLE_EQ(before[2].ledger.total() - after[2].ledger.total(), weights);
}

TEST(Moments, SharedWeightsStayWhileOneOfTheTwoStays) {
  const Job job = grpo(llama_8b());
  Plan plan = grpo_plan();
  plan.placements[2].leaves_when_idle = true;
  const auto all = moments(machines_of(h100(), 1), job, plan);
  const double weights =
      footprint(job, plan.placements[1], 0).idle.total() + footprint(job, plan.placements[0], 0).idle.total();
  EXPECT_DOUBLE_EQ(all[0].ledger[Component::weights], weights);
  EXPECT_EQ(all[0].ledger[Component::moments], 0);
}

TEST(Moments, TheKvPoolTakesWhatIsLeft) {
  const auto all = moments(machines_of(h100(), 1), grpo(llama_8b()), grpo_plan());
  EXPECT_GT(all[0].kv_pool, 30e9);
  EXPECT_NEAR(all[0].ledger.total(), all[0].limit, 1);
  EXPECT_EQ(all[1].kv_pool, 0);
}

TEST(Moments, TheKvPoolIsNoLargerThanAllSequences) {
  Job job = grpo(llama_8b());
  job.prompts = 1;
  const auto all = moments(machines_of(h100(), 1), job, grpo_plan());
  EXPECT_DOUBLE_EQ(all[0].kv_pool, 2 * (512.0 + 4096) * 131'072 / 2);
}

TEST(Peaks, TheFullestMomentOfEachDevice) {
  const cluster::Cluster cluster = machines_of(h100(), 2);
  const Job job = grpo(llama_8b());
  const auto all = moments(cluster, job, grpo_plan());
  const auto fullest = peaks(cluster, job, grpo_plan());
  ASSERT_EQ(fullest.size(), 8);
  for (const DevicePeak& moment : all)
    EXPECT_LE(moment.ledger.total(), fullest[static_cast<size_t>(moment.device)].ledger.total());
}

TEST(DistinctMoments, HaveEveryMomentOnce) {
  cluster::Cluster cluster = machines_of(a100(), 16);
  cluster.machines.push_back(machines_of(h100(), 8).machines[0]);
  const Job job = grpo(llama_8b());
  Plan plan = grpo_plan();
  const auto all = moments(cluster, job, plan), distinct = distinct_moments(cluster, job, plan);
  EXPECT_LT(distinct.size(), all.size());
  const auto same = [](const DevicePeak& a, const DevicePeak& b) {
    return a.stage == b.stage && a.ledger.bytes == b.ledger.bytes && a.kv_pool == b.kv_pool &&
           a.limit == b.limit;
  };
  for (const DevicePeak& moment : all)
    EXPECT_EQ(std::ranges::count_if(distinct, [&](const DevicePeak& d) { return same(d, moment); }), 1);
}

}  // namespace
}  // namespace nereus::plan
