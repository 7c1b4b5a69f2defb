#include "nereus/simulator/step.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using test::plan_of;
using test::small_cluster;
using test::small_job;

Conditions at(int64_t step, int32_t devices, double slowness = 1) {
  return {std::vector<double>(static_cast<size_t>(devices), slowness), 1, 7, step};
}

StepLengths lengths_of(const plan::Job& job, int32_t prompt, int32_t response) {
  const auto samples = static_cast<size_t>(job.samples());
  return {std::vector<int32_t>(samples, prompt), std::vector<int32_t>(samples, response)};
}

WorldOptions quiet() {
  WorldOptions world;
  world.noise = 0;
  return world;
}

TEST(Step, SameSeedAndStepGiveTheSameStep) {
  const auto job = small_job(true);
  const auto cluster = small_cluster(2, 4);
  const PlanRun run({}, cluster, job, plan_of(job, {2, 1, 4}));
  const auto lengths = lengths_of(job, 100, 300);
  const auto first = run.step(lengths, at(3, 8)), again = run.step(lengths, at(3, 8)),
             other = run.step(lengths, at(4, 8));
  EXPECT_EQ(first.seconds, again.seconds);
  EXPECT_EQ(first.peaks, again.peaks);
  EXPECT_NE(first.seconds, other.seconds);
  EXPECT_NEAR(first.seconds, other.seconds, 0.2 * first.seconds);  // noise of two percent a stage
}

TEST(Step, StagesFollowOneAnotherAndFillTheStep) {
  const auto job = small_job(true);
  const PlanRun run(quiet(), small_cluster(1, 4), job, plan_of(job, {4, 1, 1}));
  const auto report = run.step(lengths_of(job, 100, 300), at(0, 4));
  ASSERT_FALSE(report.out_of_memory);
  ASSERT_EQ(report.stages.size(), plan::model_stages(job).size());
  double end = report.weight_sync;
  for (const auto& stage : report.stages) {
    EXPECT_DOUBLE_EQ(stage.start, end);  // all share the same devices
    EXPECT_GT(stage.seconds(), 0);
    end = stage.end;
  }
  EXPECT_DOUBLE_EQ(report.seconds, end);
}

TEST(Step, StagesOnTheirOwnDevicesRunTogether) {
  const auto job = small_job(true);
  plan::Plan plan = plan_of(job, {2, 1, 1});
  for (auto& placement : plan.placements)
    if (placement.what.role != plan::Role::actor) placement.devices = {2, 3};
  const PlanRun run(quiet(), small_cluster(1, 4), job, plan);
  const auto report = run.step(lengths_of(job, 100, 300), at(0, 4));
  const auto find = [&](plan::Role role, plan::Stage stage) {
    return *std::ranges::find(report.stages, plan::ModelStage{role, stage}, &StageReport::what);
  };
  EXPECT_DOUBLE_EQ(find(plan::Role::actor, plan::Stage::train).start,
                   find(plan::Role::critic, plan::Stage::train).start);
  EXPECT_DOUBLE_EQ(find(plan::Role::actor, plan::Stage::infer).start,
                   find(plan::Role::actor, plan::Stage::generate).end);
}

TEST(Step, SlowDevicesHoldUpTheirGroup) {
  const auto job = small_job();
  const PlanRun run(quiet(), small_cluster(1, 4), job, plan_of(job, {4, 1, 1}));
  const auto lengths = lengths_of(job, 100, 300);
  const auto base = run.step(lengths, at(0, 4));
  auto conditions = at(0, 4);
  conditions.slowness[2] = 1.5;
  const double held_up = run.step(lengths, conditions).seconds;
  const double all_slow = run.step(lengths, at(0, 4, 1.5)).seconds;
  EXPECT_GT(held_up, 1.2 * base.seconds);
  EXPECT_LE(held_up, all_slow * (1 + 1e-9));
}

TEST(Step, LongestResponsesDecideGeneration) {
  const auto job = small_job();
  const PlanRun run(quiet(), small_cluster(1, 4), job, plan_of(job, {4, 1, 1}));
  const auto even = lengths_of(job, 100, 300);
  StepLengths uneven = even;
  for (size_t i = 0; i < uneven.responses.size(); ++i) uneven.responses[i] = i % 8 == 0 ? 1000 : 200;
  ASSERT_EQ(even.tokens(), uneven.tokens());
  const auto a = run.step(even, at(0, 4)), b = run.step(uneven, at(0, 4));
  EXPECT_GT(b.stages[0].seconds(), 2 * a.stages[0].seconds());
  EXPECT_EQ(b.decoding.iterations, 1000);
  // Training sees the same tokens; packed, nothing is padded.
  EXPECT_NEAR(b.stages.back().seconds(), a.stages.back().seconds(), 0.15 * a.stages.back().seconds());
}

TEST(Step, MoreDevicesAreFasterButNotInProportion) {
  const auto job = small_job();
  double before = 1e9;
  for (const int32_t devices : {1, 2, 4, 8}) {
    const PlanRun run(quiet(), small_cluster(1, devices), job, plan_of(job, {devices, 1, 1}));
    const double seconds = run.step(lengths_of(job, 100, 300), at(0, devices)).seconds;
    EXPECT_LT(seconds, before);
    EXPECT_GT(2 * seconds, before * (devices == 1 ? 0 : 1) * 0.99);
    before = seconds;
  }
}

TEST(Step, LeavingCostsTimeAndSavesMemory) {
  const auto job = small_job(true);
  plan::Plan plan = plan_of(job, {4, 1, 1});
  const auto lengths = lengths_of(job, 100, 300);
  const auto stays = PlanRun(quiet(), small_cluster(1, 4), job, plan).step(lengths, at(0, 4));
  for (auto& placement : plan.placements) placement.leaves_when_idle = true;
  const auto leaves = PlanRun(quiet(), small_cluster(1, 4), job, plan).step(lengths, at(0, 4));
  EXPECT_GT(leaves.seconds, stays.seconds);
  EXPECT_LT(leaves.peaks[0], stays.peaks[0]);
}

TEST(Step, OutOfMemoryEndsTheStepWhereItHappens) {
  const auto job = small_job();
  const PlanRun run(quiet(), small_cluster(1, 1, 19e9), job, plan_of(job, {1, 1, 1}, 32));
  const auto report = run.step(lengths_of(job, 100, 1000), at(0, 1));
  ASSERT_TRUE(report.out_of_memory);
  EXPECT_LT(report.stages.size(), 3U);
  EXPECT_GT(report.out_of_memory->asked, 19e9);
}

TEST(Step, AdaptersSyncFasterThanWeights) {
  auto job = small_job();
  plan::Plan plan = plan_of(job, {2, 1, 4});
  for (auto& placement : plan.placements)
    if (placement.what.stage == plan::Stage::generate) placement.layout = {8, 1, 1};
  const auto lengths = lengths_of(job, 100, 300);
  const double whole = PlanRun(quiet(), small_cluster(2, 4), job, plan).step(lengths, at(0, 8)).weight_sync;
  job.models.front().lora_rank = 16;
  const double adapter = PlanRun(quiet(), small_cluster(2, 4), job, plan).step(lengths, at(0, 8)).weight_sync;
  EXPECT_GT(whole, 0);
  EXPECT_LT(adapter, whole);
}

}  // namespace
}  // namespace nereus::simulator
