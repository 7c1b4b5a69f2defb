#include "nereus/elastic/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/elastic/world.h"

namespace nereus::elastic {
namespace {

using plan::Role;
using plan::Stage;
using testing::HasSubstr;

/// Two devices on two machines that exchange the halves of a reference model: neither can begin without room.
struct Exchange {
  plan::Job job;
  plan::Plan from, to;
  int64_t most = 0;  // bytes of the fuller device

  Exchange() {
    job.models.push_back({Role::actor, test::small_model(4, 4, 2, 8, 16), 0});
    from.placements = {test::placement(Role::actor, Stage::generate, {1, 2, 1})};
    to = from;
    to.placements[0].devices = {1, 0};
    std::vector<int64_t> bytes(4, 0);
    for (const auto& [key, piece] : test::World::store_of(test::small_cluster({1, 1}), job, from))
      most = std::max(most, bytes[static_cast<size_t>(key.place)] += static_cast<int64_t>(piece.size()));
  }
  Result<Transition> run(double memory, double host, bool keep_old, int64_t bundle = 300) const {
    TransitionOptions options;
    options.assign = false;
    options.messages_in_flight = 0;
    options.bundle_bytes = bundle;
    options.keep_old = keep_old;
    return make_transition(test::small_cluster({1, 1}, memory, host), job, from, to, options);
  }
};

int32_t count(const Transition& transition, Action action) {
  int32_t found = 0;
  for (const Node& node : transition.graph().nodes) found += node.action == action ? 1 : 0;
  return found;
}

TEST(Order, WithRoomForBothNothingGoesBeforeTheCommit) {
  const Exchange exchange;
  const auto result = value_or_throw(exchange.run(static_cast<double>(2 * exchange.most), 1e9, true));
  EXPECT_EQ(count(result, Action::stage_out), 0);
  EXPECT_TRUE(result.schedule.revocable);
  bool committed = false;
  for (const Node& node : result.graph().nodes) {
    if (node.action == Action::commit) committed = true;
    EXPECT_TRUE(node.action != Action::release || committed);
  }
}

TEST(Order, ACycleIsBrokenByStagingThroughTheHost) {
  const Exchange exchange;
  const auto result = value_or_throw(exchange.run(static_cast<double>(exchange.most), 1e9, false));
  EXPECT_GT(result.schedule.staged_bundles, 0);
  // The other bundles go as those before them have gone.
  EXPECT_LT(result.schedule.staged_bytes, exchange.most);
  test::Dice dice(3);
  for (int i = 0; i < 20; ++i) {
    test::World world(test::small_cluster({1, 1}, static_cast<double>(exchange.most)), exchange.job,
                      exchange.from);
    ASSERT_EQ(world.run(result, dice), "");
    ASSERT_EQ(world.compare(exchange.to), "");
    EXPECT_LE(world.peak()[0], exchange.most);
    EXPECT_LE(world.peak()[1], exchange.most);
  }
}

TEST(Order, ABundleOfRoomNeedsNoStaging) {
  const Exchange exchange;
  const auto result = value_or_throw(exchange.run(static_cast<double>(exchange.most + 600), 1e9, false));
  EXPECT_EQ(result.schedule.staged_bundles, 0);
  EXPECT_FALSE(result.schedule.revocable) << "old pieces went early and left no copy";
}

TEST(Order, WhatGoesEarlyLeavesACopyOnTheHost) {
  const Exchange exchange;
  const auto result = value_or_throw(exchange.run(static_cast<double>(exchange.most + 600), 1e9, true));
  EXPECT_EQ(result.schedule.staged_bundles, 0);
  EXPECT_GT(count(result, Action::stage_out), 0);
  EXPECT_TRUE(result.schedule.revocable);
}

TEST(Order, AFullHostIsNamed) {
  const Exchange exchange;
  const auto refused = exchange.run(static_cast<double>(exchange.most), 10, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the memory of machine m"));
  EXPECT_THAT(refused.error().message, HasSubstr("has to stage there"));
  // With a little more room nothing has to be staged, and no copy of the old is kept.
  const auto without = value_or_throw(exchange.run(static_cast<double>(exchange.most + 600), 10, true));
  EXPECT_FALSE(without.schedule.revocable);
}

}  // namespace
}  // namespace nereus::elastic
