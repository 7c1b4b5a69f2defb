#include "nereus/simulator/elastic_data.h"

#include <gtest/gtest.h>

#include "nereus/plan/memory.h"
#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using test::small_cluster;
using test::small_job;

/// The layouts of a plan, their data axes set to 1.
std::vector<plan::Layout> sizes_of(const plan::Plan& plan) {
  std::vector<plan::Layout> sizes;
  for (const auto& placement : plan.placements)
    sizes.push_back({1, placement.layout.pp, placement.layout.tp});
  return sizes;
}

TEST(ElasticData, KeepsTensorAndPipelineSizes) {
  for (const bool tuned : {false, true}) {
    ElasticData policy(small_job(), tuned);
    const auto four = small_cluster(4, 4), two = small_cluster(2, 4);
    const Answer first = policy.begin({four, 0, 0, 100});
    ASSERT_EQ(first.action, Answer::Action::change);
    const Answer fewer = policy.devices_changed({two, 10, 1, 99});
    ASSERT_EQ(fewer.action, Answer::Action::change) << fewer.reason;
    EXPECT_EQ(sizes_of(fewer.plan), sizes_of(first.plan));
    EXPECT_TRUE(plan::fits(two, small_job(), fewer.plan));
    EXPECT_EQ(policy.devices_changed({four, 20, 2, 98}).action, Answer::Action::change);
  }
}

TEST(ElasticData, WaitsWhereNoReplicaFits) {
  ElasticData policy(small_job(), true);
  ASSERT_EQ(policy.begin({small_cluster(4, 4), 0, 0, 100}).action, Answer::Action::change);
  EXPECT_EQ(policy.devices_changed({small_cluster(1, 1, 3e9), 10, 1, 99}).action, Answer::Action::wait);
}

}  // namespace
}  // namespace nereus::simulator
