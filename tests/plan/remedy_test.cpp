#include "nereus/plan/remedy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

using testing::HasSubstr;

Plan trained_on(Layout layout) {
  return {{placed({Role::actor, Stage::train}, layout)}};
}

TEST(Remedy, WasTried) {
  const cluster::Cluster cluster = machines_of(a100(), 1);
  const Job job = grpo(llama_8b());
  Plan plan = trained_on({4, 1, 2});
  plan.placements[0].micro_batch = 4;
  const Status status = check_memory(cluster, job, plan);
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message, HasSubstr("activations"));
  EXPECT_THAT(status.error().message, HasSubstr("recompute activations"));
  plan.placements[0].recompute = true;
  EXPECT_TRUE(check_memory(cluster, job, plan).has_value());
}

TEST(Remedy, SaysWhereNoSingleChangeIsEnough) {
  const Status status = check_memory(machines_of(a100(), 1, 1), grpo(llama_70b()), trained_on({1, 1, 1}));
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message, HasSubstr("no single change is enough"));
}

TEST(Remedy, AnotherStageMayLeave) {
  const Job job = ppo(llama_8b());
  Plan plan;
  for (const ModelStage what : model_stages(job)) plan.placements.push_back(placed(what, {2, 1, 4}));
  for (Placement& placement : plan.placements) placement.recompute = true;
  cluster::Cluster cluster = machines_of(a100(), 1);
  cluster.machines[0].kind.memory = 52e9;
  const Status status = check_memory(cluster, job, plan);
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message, HasSubstr("leave the device when idle"));
}

TEST(Tightest, TheMomentWithTheLeastRoom) {
  DevicePeak roomy{.device = 1, .stage = {}, .ledger = {}, .kv_pool = 0, .limit = 10};
  DevicePeak tight{.device = 2, .stage = {}, .ledger = {}, .kv_pool = 0, .limit = 20};
  tight.ledger[Component::weights] = 15;
  EXPECT_EQ(tightest({roomy, tight}).device, 2);
}

}  // namespace
}  // namespace nereus::plan
