#include "nereus/simulator/transition.h"

#include <gtest/gtest.h>

#include "nereus/simulator/step.h"
#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using test::plan_of;
using test::small_cluster;
using test::small_job;

struct Case {
  cluster::Cluster cluster = small_cluster(4, 4);
  plan::Job job = small_job();
  WorldOptions world;

  TransitionReport run(const TransitionCase& change) const {
    return transition(world, Links(cluster, 0.8, 0.85, world.storage_gb_s * 1e9), job, change);
  }
};

TEST(Transition, StartReadsEverythingFromStorage) {
  const Case c;
  const auto plan = plan_of(c.job, {4, 1, 4});
  const auto report = c.run({nullptr, &plan, {}, false});
  EXPECT_GT(report.stored, 14e9);  // 1.1 billion parameters, 14 bytes each, once; weights to every machine
  EXPECT_FALSE(report.state_lost);
  EXPECT_GT(report.seconds, report.stored / (c.world.storage_gb_s * 1e9));
}

TEST(Transition, SamePlanMovesNothing) {
  const Case c;
  const auto plan = plan_of(c.job, {4, 1, 4});
  const auto report = c.run({&plan, &plan, {}, false});
  EXPECT_EQ(report.moved + report.stored, 0);
  EXPECT_LT(report.seconds, 3);
}

// What the oracle works out once for several plans.
TEST(Transition, WhatLeavesAndShardsOfGradientsDoNotMatter) {
  const Case c;
  const auto from = plan_of(c.job, {4, 2, 2});
  auto to = plan_of(c.job, {8, 1, 2}), other = to;
  for (auto& placement : other.placements) {
    placement.leaves_when_idle = true;
    placement.micro_batch = 1;
    if (placement.what.stage == plan::Stage::train) placement.zero = 2;
  }
  for (auto* plan : {&to, &other})
    for (auto& placement : plan->placements)
      if (placement.what.stage == plan::Stage::generate) placement.layout = {16, 1, 1};
  EXPECT_EQ(c.run({&from, &to, {}, false}).seconds, c.run({&from, &other, {}, false}).seconds);
  const auto sync = [&](const plan::Plan& plan) {
    return PlanRun(c.world, c.cluster, c.job, plan).weight_sync();
  };
  EXPECT_GT(sync(to), 0);
  EXPECT_EQ(sync(to), sync(other));
}

TEST(Transition, OtherLayoutIsPricedByTheLinks) {
  Case c;
  const auto from = plan_of(c.job, {16, 1, 1}), to = plan_of(c.job, {1, 4, 4});
  const auto fast = c.run({&from, &to, {}, false});
  EXPECT_GT(fast.moved, 0);
  EXPECT_EQ(fast.stored, 0);
  for (auto& machine : c.cluster.machines) machine.network_bandwidth /= 20;
  EXPECT_GT(c.run({&from, &to, {}, false}).seconds, fast.seconds);
}

TEST(Transition, ShardsOfALostMachineAreLost) {
  const Case c;
  auto from = plan_of(c.job, {4, 1, 4});
  const auto to = plan_of(c.job, {3, 1, 4});
  std::vector<bool> lost(16, false);
  for (size_t i = 12; i < 16; ++i) lost[i] = true;
  // ZeRO-1: a quarter of the moments was there alone.
  const auto sharded = c.run({&from, &to, lost, false});
  EXPECT_TRUE(sharded.state_lost);
  EXPECT_NEAR(sharded.stored, 12.0 * 0.25 * 1.1e9, 0.05 * 3.3e9);
  // Without shards every replica has all of it.
  for (auto& placement : from.placements) placement.zero = 0;
  auto whole = to;
  for (auto& placement : whole.placements) placement.zero = 0;
  const auto copied = c.run({&from, &whole, lost, false});
  EXPECT_FALSE(copied.state_lost);
  EXPECT_EQ(copied.stored, 0);
  // A job that goes back reads the whole state.
  const auto back = c.run({&from, &to, lost, true});
  EXPECT_GT(back.stored, 12.0 * 1.1e9 * 0.95);
}

}  // namespace
}  // namespace nereus::simulator
