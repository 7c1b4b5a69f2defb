#include "nereus/elastic/cost.h"

#include <gtest/gtest.h>

#include "nereus/elastic/transition.h"
#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

using plan::Role;
using plan::Stage;

plan::Job llama_job() {
  plan::Job job;
  job.models.push_back({Role::actor, test::llama3_8b(), 0});
  return job;
}

// One replica of 8B weights to a device of another machine: 16.06 GB over a host link of 25 GB/s.
TEST(Cost, ByHand) {
  const plan::Plan from{{test::placement(Role::actor, Stage::generate, {1, 1, 1})}};
  const plan::Plan to{{test::placement(Role::actor, Stage::generate, {1, 1, 1}, 8)}};
  TransitionOptions options;
  options.cost.groups_ahead = false;
  const auto result = value_or_throw(make_transition(test::a100_cluster(2), llama_job(), from, to, options));
  const double seconds = 2 * 8'030'261'248.0 / 25e9;
  EXPECT_EQ(result.cost.moved_bytes, 2 * int64_t{8'030'261'248});
  EXPECT_EQ(result.cost.network_bytes, result.cost.moved_bytes);
  EXPECT_EQ(result.cost.needed_bytes, result.cost.moved_bytes);
  EXPECT_NEAR(result.cost.bound, seconds, 1e-9);
  EXPECT_GE(result.cost.transfer, seconds);
  EXPECT_LE(result.cost.transfer, 1.02 * seconds);
  EXPECT_EQ(result.cost.group_setup, 0) << "a single rank has no group";
  // Checked at a quarter of 2 TB/s, and two messages up and down a tree over ten places and hosts.
  EXPECT_NEAR(result.cost.verification, 2 * 8'030'261'248.0 / 0.5e12 + 2 * 2e-5 * 5, 1e-9);
  EXPECT_DOUBLE_EQ(result.cost.total, result.cost.transfer + result.cost.verification + options.cost.warm_up);
}

TEST(Cost, NothingForNothing) {
  const plan::Plan plan{{test::placement(Role::actor, Stage::train, {2, 1, 4})}};
  const auto result = value_or_throw(make_transition(test::a100_cluster(1), llama_job(), plan, plan));
  EXPECT_TRUE(result.empty());
  EXPECT_EQ(result.cost.total, 0);
}

TEST(Cost, GroupsByTheLinksTheyCross) {
  const auto cluster = test::a100_cluster(2);
  const CostOptions options;
  const double local = options.local_group, network = options.network_group;
  struct Case {
    plan::Layout layout;
    double seconds;
  };
  for (const auto& [layout, seconds] : std::vector<Case>{{{1, 1, 1}, 0},
                                                         {{1, 1, 8}, local},
                                                         {{2, 1, 8}, local + network},
                                                         {{1, 1, 16}, network},
                                                         {{2, 4, 2}, 2 * local + network}}) {
    EXPECT_NEAR(group_setup(cluster, test::placement(Role::actor, Stage::train, layout), options), seconds,
                1e-3);
  }
}

TEST(Cost, GroupsSetUpAheadAreNotPartOfThePause) {
  const plan::Plan from{{test::placement(Role::actor, Stage::generate, {2, 1, 8})}};
  const plan::Plan to{{test::placement(Role::actor, Stage::generate, {4, 1, 4})}};
  TransitionOptions options;
  const auto ahead = value_or_throw(make_transition(test::a100_cluster(2), llama_job(), from, to, options));
  options.cost.groups_ahead = false;
  const auto after = value_or_throw(make_transition(test::a100_cluster(2), llama_job(), from, to, options));
  EXPECT_GT(ahead.cost.group_setup, 0.1);
  EXPECT_NEAR(after.cost.total - ahead.cost.total, ahead.cost.group_setup, 1e-9);
}

// Where memory makes bundles wait for one another, the longest chain says so.
TEST(Cost, MemoryMakesItSlower) {
  plan::Plan from{{test::placement(Role::actor, Stage::generate, {1, 2, 1})}};
  plan::Plan to = from;
  to.placements[0].devices = {1, 0};
  TransitionOptions options;
  options.assign = false;
  const auto roomy = value_or_throw(make_transition(test::a100_cluster(1), llama_job(), from, to, options));
  options.reserved = {80'000'000'000 - 11'000'000'000, 80'000'000'000 - 11'000'000'000};
  const auto tight = value_or_throw(make_transition(test::a100_cluster(1), llama_job(), from, to, options));
  EXPECT_LE(roomy.cost.transfer, 1.25 * roomy.cost.bound);
  EXPECT_GT(tight.cost.staged_bytes, 0);
  EXPECT_GT(tight.cost.transfer, 2 * roomy.cost.transfer);
}

}  // namespace
}  // namespace nereus::elastic
