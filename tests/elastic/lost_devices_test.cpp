// Devices that are gone: what only they held is named, and comes from a replica or else from a checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/elastic/world.h"

namespace nereus::elastic {
namespace {

using plan::Role;
using plan::Stage;
using testing::HasSubstr;

class LostDevices : public testing::Test {
 protected:
  LostDevices() {
    job_.models.push_back({Role::actor, test::small_model(4, 4, 2, 8, 16), 0});
    job_.models.push_back({Role::reference, test::small_model(4, 4, 2, 8, 16), 0});
    options_.messages_in_flight = 0;
    options_.bundle_bytes = 500;
  }
  static plan::Plan plan_of(plan::Layout train, plan::Layout infer, int32_t zero) {
    plan::Plan plan{{test::placement(Role::reference, Stage::infer, infer),
                     test::placement(Role::actor, Stage::train, train)}};
    plan.placements[1].zero = zero;
    return plan;
  }
  /// Loses devices 4 to 7, a whole machine, and goes on with the rest.
  Result<Transition> lose_second_machine(const plan::Plan& from, const plan::Plan& to) {
    options_.lost = {4, 5, 6, 7};
    return make_transition(cluster_, job_, from, to, options_);
  }
  void expect_right(const Transition& result, const plan::Plan& from) {
    test::Dice dice(1);
    test::World world(cluster_, job_, from);
    world.lose({4, 5, 6, 7, Places(cluster_).host(1)});
    ASSERT_EQ(world.run(result, dice), "");
    EXPECT_EQ(world.compare(result.to), "");
  }

  plan::Job job_;
  cluster::Cluster cluster_ = test::small_cluster({4, 4});
  TransitionOptions options_;
};

TEST_F(LostDevices, AReplicaHasEverything) {
  const auto from = plan_of({2, 1, 4}, {2, 1, 4}, 0), to = plan_of({1, 1, 4}, {1, 2, 2}, 0);
  const auto result = value_or_throw(lose_second_machine(from, to));
  EXPECT_TRUE(result.recovered.empty());
  expect_right(result, from);
}

TEST_F(LostDevices, OnlyTheyHeldItsShardOfTheOptimizer) {
  const auto from = plan_of({2, 1, 4}, {2, 1, 4}, 1), to = plan_of({1, 1, 4}, {1, 1, 4}, 1);
  const auto refused = lose_second_machine(from, to);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("no place holds actor: optimizer state of model."));
  options_.recovery = Recovery::current;
  const auto result = value_or_throw(lose_second_machine(from, to));
  ASSERT_FALSE(result.recovered.empty());
  int64_t bytes = 0;
  for (const Missing& missing : result.recovered) {
    EXPECT_EQ(missing.lane, LaneKind::optimizer);
    bytes += missing.bytes;
  }
  int64_t read = 0;
  for (const Node& node : result.graph().nodes) {
    if (node.source == result.places.checkpoint()) read += node.bytes;
  }
  EXPECT_EQ(read, bytes) << "nothing else is read from the checkpoint";
  EXPECT_TRUE(result.stepped_back.empty());
  expect_right(result, from);
}

// Moments of an older step do not go with the weights of this one.
TEST_F(LostDevices, AnOlderCheckpointTakesTheWholeModelBack) {
  const auto from = plan_of({2, 1, 4}, {2, 1, 4}, 1), to = plan_of({1, 1, 4}, {1, 2, 2}, 1);
  options_.recovery = Recovery::older;
  const auto result = value_or_throw(lose_second_machine(from, to));
  EXPECT_EQ(result.stepped_back, std::vector{Role::actor});
  for (const Missing& missing : result.recovered)
    EXPECT_EQ(missing.role, Role::actor) << "the reference has a replica";
  expect_right(result, from);
}

TEST_F(LostDevices, MayNotBeUsed) {
  const auto from = plan_of({2, 1, 4}, {2, 1, 4}, 1);
  const auto refused = lose_second_machine(from, from);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("device 4 (machine m1, A100-80) is lost"));
}

// Whatever is lost, the rest of a plan becomes any other plan on what is left.
TEST_F(LostDevices, RandomPlans) {
  int32_t recovered = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    test::Dice dice(seed);
    cluster_ = test::random_cluster(dice);
    if (cluster_.machines.size() < 2) continue;
    job_ = test::random_job(dice);
    const auto from = test::random_plan(cluster_, job_, dice);
    cluster::Cluster left = cluster_;
    left.machines.pop_back();  // the last machine's numbers are the highest
    const auto to = test::random_plan(left, job_, dice);
    options_.lost.clear();
    for (int32_t device = left.devices(); device < cluster_.devices(); ++device)
      options_.lost.push_back(device);
    options_.recovery = dice.one_in(2) ? Recovery::current : Recovery::older;
    const auto result = make_transition(cluster_, job_, from, to, options_);
    ASSERT_TRUE(result) << result.error().message;
    recovered += result->recovered.empty() ? 0 : 1;
    test::World world(cluster_, job_, from);
    auto gone = options_.lost;
    gone.push_back(Places(cluster_).count() - 1);
    world.lose(gone);
    ASSERT_EQ(world.run(*result, dice), "") << seed << test::text(from) << "\nto" << test::text(result->to);
    ASSERT_EQ(world.compare(result->to), "") << seed;
  }
  EXPECT_GT(recovered, 10);
}

}  // namespace
}  // namespace nereus::elastic
