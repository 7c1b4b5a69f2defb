#include "nereus/plan/time.h"

#include <gtest/gtest.h>

#include "nereus/plan/memory.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

Plan all_on(const Job& job, const Layout& layout) {
  Plan plan;
  for (const ModelStage what : model_stages(job)) plan.placements.push_back(placed(what, layout));
  return plan;
}

TEST(Predict, OnSharedDevicesTheStagesAddUp) {
  const cluster::Cluster cluster = machines_of(h100(), 4);
  const Job job = ppo(llama_8b());
  const StepTime step = predict(cluster, job, all_on(job, {8, 1, 4}), {});
  double sum = step.weight_sync;
  for (const StageTime& stage : step.stages) sum += stage.total();
  EXPECT_NEAR(step.total, sum, 1e-9);
  EXPECT_EQ(step.stages.size(), 7);
  EXPECT_EQ(step.weight_sync, 0);
  EXPECT_EQ(step.find({Role::critic, Stage::train}), &step.stages[6]);
}

// The worked example of docs/planner.md: its figures are those of a calculation by hand.
TEST(Predict, TheExampleOfTheDocs) {
  Job job = grpo(llama_8b());
  job.lengths = {.prompt = 512, .responses = {1024}, .max_response = 4096};
  Plan plan = all_on(job, {4, 1, 2});
  plan.placements[2].recompute = true;
  const auto all = moments(machines_of(a100(), 1), job, plan);
  EXPECT_NEAR(all[2].ledger.total(), 39.22e9, 0.01e9);
  EXPECT_NEAR(all[0].kv_pool, 49.64e9, 0.01e9);
  const StepTime step = predict(machines_of(a100(), 1), job, plan, {});
  EXPECT_NEAR(step.stages[0].total(), 19.8, 0.05);
  EXPECT_EQ(step.stages[0].bound, Bound::memory_bandwidth);
  EXPECT_NEAR(step.stages[2].compute, 87.6, 0.05);
  EXPECT_NEAR(step.stages[2].communication, 2.31 + 0.012 + 0.020, 0.01);
  EXPECT_NEAR(step.stages[2].optimizer, 0.020, 0.001);
  EXPECT_NEAR(step.stages[2].total(), 90.0, 0.05);
}

TEST(Predict, SeparateDevicesRunSideBySide) {
  const cluster::Cluster cluster = machines_of(h100(), 2);
  const Job job = grpo(qwen_half_b());
  Plan plan = all_on(job, {8, 1, 1});
  plan.placements[0] = placed(plan.placements[0].what, {8, 1, 1}, 8);
  const StepTime step = predict(cluster, job, plan, {});
  EXPECT_GT(step.weight_sync, 0);
  Job asynchronous = job;
  asynchronous.asynchronous = true;
  EXPECT_LT(predict(cluster, asynchronous, plan, {}).total, step.total);
}

TEST(Predict, LeavingCostsTheWayToTheHostAndBack) {
  const cluster::Cluster cluster = machines_of(h100(), 4);
  const Job job = grpo(llama_8b());
  Plan plan = all_on(job, {8, 1, 4});
  const StepTime stays = predict(cluster, job, plan, {});
  plan.placements[2].leaves_when_idle = true;
  const StepTime leaves = predict(cluster, job, plan, {});
  const double bytes = footprint(job, plan.placements[2], 0).idle.total();
  EXPECT_DOUBLE_EQ(leaves.offload, 2 * bytes / 50e9);
  EXPECT_NEAR(leaves.total, stays.total + leaves.offload, 0.05 * stays.total);
  plan.placements[2].leaves_when_idle = false;
  plan.placements[1].leaves_when_idle = true;
  EXPECT_DOUBLE_EQ(predict(cluster, job, plan, {}).offload,
                   footprint(job, plan.placements[1], 0).idle.total() / 50e9);
}

TEST(StageTime, EqualWithLinksKnown) {
  const cluster::Cluster cluster = machines_of(h100(), 2);
  const Job job = grpo(llama_8b());
  const Placement placement = placed({Role::actor, Stage::train}, {2, 2, 4});
  EXPECT_EQ(stage_time(cluster, job, placement, 0, {}).total(),
            stage_time(job, placement, links_of(cluster, placement), 0, {}).total());
}

}  // namespace
}  // namespace nereus::plan
