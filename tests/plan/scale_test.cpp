#include "nereus/plan/scale.h"

#include <gtest/gtest.h>

#include <set>

#include "nereus/plan/memory.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

/// Every stage in one layout, from device 0 on.
Plan plan_of(const Job& job, const Layout& layout) {
  Plan plan;
  for (const ModelStage what : model_stages(job)) plan.placements.push_back(placed(what, layout));
  return plan;
}

TEST(ScaleData, TheDataAxisFollowsTheDevices) {
  const Plan plan = plan_of(grpo(llama_8b()), {4, 1, 4});
  struct {
    int32_t devices, dp;
  } const cases[] = {{16, 4}, {8, 2}, {24, 6}, {11, 2}, {4, 1}};
  for (const auto& c : cases) {
    const auto scaled = scale_data(plan, 16, c.devices);
    ASSERT_TRUE(scaled) << c.devices;
    for (const Placement& placement : scaled->placements) {
      EXPECT_EQ(placement.layout, (Layout{c.dp, 1, 4})) << c.devices;
      EXPECT_EQ(placement.devices.size(), static_cast<size_t>(4 * c.dp));
    }
  }
  EXPECT_FALSE(scale_data(plan, 16, 3));
}

TEST(ScaleData, PoolsKeepTheirShares) {
  Plan plan = plan_of(ppo(llama_8b()), {2, 1, 4});  // 8 of 32 devices each, generation on all
  for (Placement& placement : plan.placements) {
    if (placement.what.stage == Stage::generate) {
      placement = placed(placement.what, {8, 1, 4});
    } else if (placement.what.role == Role::critic) {
      placement = placed(placement.what, {2, 1, 4}, 8);
    }
  }
  for (const int32_t devices : {32, 24, 16, 40}) {
    const auto scaled = scale_data(plan, 32, devices);
    ASSERT_TRUE(scaled) << devices;
    std::set<int32_t> actor, critic;
    for (const Placement& placement : scaled->placements) {
      EXPECT_EQ(placement.layout.tp, 4);
      for (const int32_t device : placement.devices) {
        EXPECT_LT(device, devices);
        if (placement.what.stage == Stage::train)
          (placement.what.role == Role::actor ? actor : critic).insert(device);
      }
    }
    for (const int32_t device : actor) EXPECT_FALSE(critic.contains(device)) << devices;
  }
}

TEST(BestVariant, FitsWhereThePlanDoesNot) {
  const Job job = grpo(llama_8b());
  const cluster::Cluster cluster = machines_of(a100(), 1);
  Plan plan = plan_of(job, {8, 1, 1});
  for (Placement& placement : plan.placements) {
    placement.zero = 0;
    placement.micro_batch = 16;
  }
  ASSERT_FALSE(fits(cluster, job, plan));
  const auto variant = best_variant(cluster, job, {}, plan);
  ASSERT_TRUE(variant);
  EXPECT_TRUE(fits(cluster, job, *variant));
  EXPECT_EQ(variant->placements.front().layout, plan.placements.front().layout);
  cluster::DeviceKind small = a100();
  small.memory = 10e9;
  EXPECT_FALSE(best_variant(machines_of(small, 1), job, {}, plan));
}

}  // namespace
}  // namespace nereus::plan
