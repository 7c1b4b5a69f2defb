#include "nereus/elastic/state.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/elastic/world.h"

namespace nereus::elastic {
namespace {

/// Every box of a state on every place.
std::set<test::World::Key> keys_of(const ModelState& state, plan::Role role, const PlaceSets& sets) {
  std::set<test::World::Key> keys;
  for (const Lane& lane : state.lanes) {
    for (int32_t tensor = 0; tensor + 1 < static_cast<int32_t>(lane.begin.size()); ++tensor) {
      for (const Holding& holding : lane.of(tensor)) {
        for (const int32_t place : sets[holding.places]) {
          for (const Kind kind : lane.kinds)
            EXPECT_TRUE(keys.insert({place, role, kind, tensor, holding.box}).second);
        }
      }
    }
  }
  return keys;
}

// The state, in which a thousand devices are one word, says the same as the units' pieces one by one.
TEST(State, HoldsWhatTheUnitsHold) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    test::Dice dice(seed);
    const auto cluster = test::random_cluster(dice);
    const auto job = test::random_job(dice);
    const auto plan = test::random_plan(cluster, job, dice);
    PlaceSets sets;
    std::set<test::World::Key> keys, expected;
    for (const plan::Model& model : job.models) {
      const auto state = state_of(Places(cluster), job, model_tensors(model), plan.placements, sets);
      keys.merge(keys_of(state, model.role, sets));
    }
    for (const auto& [key, bytes] : test::World::store_of(cluster, job, plan)) expected.insert(key);
    ASSERT_EQ(keys, expected) << test::text(plan);
  }
}

TEST(State, WithoutLostPlaces) {
  plan::Job job;
  job.models.push_back({plan::Role::actor, test::small_model(1, 2, 1, 4, 5), 0});
  PlaceSets sets;
  const auto placed = test::placement(plan::Role::actor, plan::Stage::generate, {2, 1, 1});
  const auto state =
      state_of(Places(test::small_cluster({2})), job, model_tensors(job.models[0]), {placed}, sets);
  const auto rest = without(state, sets.add({0}), sets);
  for (const Holding& holding : rest[LaneKind::weights].holdings) EXPECT_EQ(holding.places, sets.add({1}));
}

}  // namespace
}  // namespace nereus::elastic
