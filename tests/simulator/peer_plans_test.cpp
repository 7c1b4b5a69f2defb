#include "nereus/simulator/peer_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "nereus/plan/memory.h"
#include "nereus/plan/search.h"
#include "nereus/plan/time.h"
#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using plan::Role;
using plan::Stage;
using test::small_cluster;
using test::small_job;

TEST(PeerPlans, SeparatePoolsShareNoDevice) {
  const auto job = small_job(true);
  const auto cluster = small_cluster(1, 8);
  const auto judge = [&](const plan::Plan& plan) { return plan::predict(cluster, job, plan, {}).total; };
  const auto plan = value_or_throw(separate_pools_plan(cluster, job, judge));
  EXPECT_TRUE(plan::fits(cluster, job, plan));
  ASSERT_EQ(plan.placements.size(), plan::model_stages(job).size());
  std::map<int32_t, std::set<Role>> roles;
  for (const auto& placement : plan.placements) {
    if (placement.what.stage != Stage::generate) {
      EXPECT_EQ(placement.layout.tp * placement.layout.pp, 1);
    }
    for (const int32_t device : placement.devices)
      roles[device].insert(placement.what.stage == Stage::generate ? Role::reward : placement.what.role);
  }
  for (const auto& [device, who] : roles) {
    EXPECT_FALSE(who.contains(Role::reward) && who.size() > 1) << device;  // generation alone
    EXPECT_FALSE(who.contains(Role::actor) && who.contains(Role::critic)) << device;
  }
}

TEST(PeerPlans, SharedPoolHasTwoLayoutsOnAllDevices) {
  const auto job = small_job(true);
  const auto cluster = small_cluster(1, 8);
  int judged = 0;
  const auto judge = [&](const plan::Plan& plan) {
    return ++judged, plan::predict(cluster, job, plan, {}).total;
  };
  const auto plan = value_or_throw(shared_pool_plan(cluster, job, judge));
  EXPECT_TRUE(plan::fits(cluster, job, plan));
  EXPECT_GT(judged, 10);
  std::set<plan::Layout> layouts;
  for (const auto& placement : plan.placements) {
    EXPECT_EQ(placement.devices.size(), 8U);
    if (placement.what.stage != Stage::generate) layouts.insert(placement.layout);
  }
  EXPECT_EQ(layouts.size(), 1U);
}

// By the planner's own model neither space holds anything better than what the search finds.
TEST(PeerPlans, TheSearchIsNeverBehindThem) {
  for (const double memory : {6e9, 16e9}) {
    for (const int32_t machines : {1, 3}) {
      for (const int32_t minibatches : {1, 4}) {
        auto job = small_job(true);
        job.models.push_back({Role::reward, test::small_model(), 0});
        job.minibatches = minibatches;
        const auto cluster = small_cluster(machines, 8, memory);
        const auto judge = [&](const plan::Plan& plan) {
          return plan::predict(cluster, job, plan, {}).total;
        };
        plan::SearchOptions options;
        options.deadline = 60;
        const auto found = plan::search(cluster, job, {}, options);
        for (const auto& plan :
             {separate_pools_plan(cluster, job, judge), shared_pool_plan(cluster, job, judge)}) {
          if (!plan) continue;
          ASSERT_FALSE(found.best.empty());
          EXPECT_LE(found.best.front().time.total, judge(*plan) * (1 + 1e-9))
              << memory << " bytes, " << machines << " machines, " << minibatches << " minibatches";
        }
      }
    }
  }
}

TEST(PeerPlans, TheJudgeDecides) {
  const auto job = small_job();
  const auto cluster = small_cluster(1, 4);
  const auto size = [](const plan::Plan& plan) { return plan.placements.back().micro_batch; };
  const auto least = value_or_throw(shared_pool_plan(cluster, job, [&](const auto& p) { return size(p); }));
  const auto most = value_or_throw(shared_pool_plan(cluster, job, [&](const auto& p) { return -size(p); }));
  EXPECT_LT(size(least), size(most));
}

TEST(PeerPlans, NothingFits) {
  const auto job = small_job(true);
  const auto cluster = small_cluster(1, 2, 2e9);
  const auto judge = [](const plan::Plan&) { return 1.0; };
  EXPECT_THAT(separate_pools_plan(cluster, job, judge).error().message, testing::HasSubstr("separate pools"));
  EXPECT_THAT(shared_pool_plan(cluster, job, judge).error().message, testing::HasSubstr("shared pool"));
}

}  // namespace
}  // namespace nereus::simulator
