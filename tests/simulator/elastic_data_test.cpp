#include "nereus/simulator/elastic_data.h"

#include <gtest/gtest.h>

#include <set>

#include "nereus/plan/memory.h"
#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using test::plan_of;
using test::small_cluster;
using test::small_job;

TEST(ElasticData, DataAxisFollowsTheDevices) {
  const auto plan = plan_of(small_job(), {4, 1, 4});
  for (const auto& [devices, dp] :
       std::vector<std::pair<int32_t, int32_t>>{{16, 4}, {8, 2}, {24, 6}, {11, 2}, {4, 1}}) {
    const auto scaled = scale_data(plan, 16, devices);
    ASSERT_TRUE(scaled) << devices;
    for (const auto& placement : scaled->placements) {
      EXPECT_EQ(placement.layout, (plan::Layout{dp, 1, 4})) << devices;
      EXPECT_EQ(placement.devices.size(), static_cast<size_t>(4 * dp));
    }
  }
  EXPECT_FALSE(scale_data(plan, 16, 3));
}

TEST(ElasticData, PoolsKeepTheirShares) {
  const auto job = small_job(true);
  plan::Plan plan = plan_of(job, {2, 1, 4});  // 8 of 32 devices each, generation on all
  for (auto& placement : plan.placements) {
    if (placement.what.stage == plan::Stage::generate) {
      placement = plan_of(job, {8, 1, 4}).placements.front();
    } else if (placement.what.role == plan::Role::critic) {
      for (int32_t& device : placement.devices) device += 8;
    }
  }
  for (const int32_t devices : {32, 24, 16, 40}) {
    const auto scaled = scale_data(plan, 32, devices);
    ASSERT_TRUE(scaled) << devices;
    std::set<int32_t> actor, critic;
    for (const auto& placement : scaled->placements) {
      EXPECT_EQ(placement.layout.tp, 4);
      for (const int32_t device : placement.devices) {
        EXPECT_LT(device, devices);
        if (placement.what.stage == plan::Stage::train)
          (placement.what.role == plan::Role::actor ? actor : critic).insert(device);
      }
    }
    for (const int32_t device : actor) EXPECT_FALSE(critic.contains(device)) << devices;
  }
}

TEST(ElasticData, VariantsFitWhereThePlanDoesNot) {
  const auto job = small_job();
  const auto cluster = small_cluster(1, 4, 16e9);
  plan::Plan plan = plan_of(job, {4, 1, 1}, 16);
  for (auto& placement : plan.placements) placement.zero = 0;
  ASSERT_FALSE(plan::fits(cluster, job, plan));
  const auto variant = best_variant(cluster, job, plan);
  ASSERT_TRUE(variant);
  EXPECT_TRUE(plan::fits(cluster, job, *variant));
  EXPECT_EQ(variant->placements.front().layout, plan.placements.front().layout);
  EXPECT_FALSE(best_variant(small_cluster(1, 4, 2e9), job, plan));
}

}  // namespace
}  // namespace nereus::simulator
