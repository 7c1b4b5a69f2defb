#include "nereus/elastic/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "nereus/elastic/hungarian.h"
#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

using plan::Role;
using plan::Stage;

/// A model that moves from one placement to another.
struct Move {
  cluster::Cluster cluster;
  plan::Job job;
  plan::Placement from, to;

  ModelTensors model() const { return model_tensors(job.models[0]); }
  ModelState before(PlaceSets& sets) const { return state_of(Places(cluster), job, model(), {from}, sets); }
  Overlap overlap() const {
    PlaceSets sets;
    const ModelState state = before(sets);
    return overlap_of(Places(cluster), job, model(), state, to, sets);
  }
  std::vector<double> values() const { return by_rank(Places(cluster), overlap(), to.devices); }
  std::vector<int32_t> assigned() const { return assign_devices(cluster, overlap(), to.devices); }
  /// Bytes that stay where they are when rank r has devices[r].
  double kept(const std::vector<double>& held, const std::vector<int32_t>& devices) const {
    double sum = 0;
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      const auto at = std::find(to.devices.begin(), to.devices.end(), devices[rank]) - to.devices.begin();
      sum += held[rank * devices.size() + static_cast<size_t>(at)];
    }
    return sum;
  }
};

Move random_move(test::Dice& dice, const cluster::Cluster& cluster) {
  Move move{cluster, test::random_job(dice), {}, {}};
  move.job.models.resize(1);
  for (plan::Placement* placed : {&move.from, &move.to}) {
    const auto plan = test::random_plan(cluster, move.job, dice);
    *placed = *plan.find({Role::actor, Stage::train});
    placed->leaves_when_idle = false;
  }
  return move;
}

// One machine: no constraint but one rank a device, so the best permutation is the best there is.
TEST(Assignment, EqualsTheBestPermutationOnOneMachine) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    test::Dice dice(seed);
    const Move move = random_move(dice, test::small_cluster({dice.from(1, 6)}));
    const auto held = move.values();
    auto permutation = move.to.devices;
    std::sort(permutation.begin(), permutation.end());
    double best = 0;
    do {
      best = std::max(best, move.kept(held, permutation));
    } while (std::next_permutation(permutation.begin(), permutation.end()));
    EXPECT_EQ(move.kept(held, move.assigned()), best) << seed;
  }
}

// Several machines: ranks that shared one still do, and no such choice keeps more.
TEST(Assignment, EqualsTheBestThatKeepsMachinesTogether) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    test::Dice dice(seed);
    const Move move = random_move(dice, test::small_cluster({2, 2, 2}));
    const auto held = move.values();
    const auto together = [&](const std::vector<int32_t>& devices) {
      std::map<int32_t, int32_t> machine;  // by the machine that was given
      for (size_t rank = 0; rank < devices.size(); ++rank) {
        const int32_t given = move.cluster.machine_of(move.to.devices[rank]);
        const int32_t now = move.cluster.machine_of(devices[rank]);
        if (machine.try_emplace(given, now).first->second != now) return false;
      }
      return true;
    };
    auto permutation = move.to.devices;
    std::sort(permutation.begin(), permutation.end());
    double best = 0;
    do {
      if (together(permutation)) best = std::max(best, move.kept(held, permutation));
    } while (std::next_permutation(permutation.begin(), permutation.end()));
    const auto devices = move.assigned();
    EXPECT_TRUE(together(devices)) << seed;
    EXPECT_EQ(move.kept(held, devices), best) << seed;
  }
}

TEST(Assignment, KeepsTheGivenOrderWhereNothingIsBetter) {
  plan::Job job;
  job.models.push_back({Role::actor, test::small_model(4, 4, 2, 8, 16), 0});
  const auto placed = test::placement(Role::actor, Stage::train, {2, 2, 2});
  const Move same{test::small_cluster({4, 4}), job, placed, placed};
  EXPECT_EQ(same.assigned(), placed.devices);
}

TEST(Assignment, RanksFollowWhatIsThere) {
  plan::Job job;
  job.models.push_back({Role::actor, test::small_model(4, 4, 2, 8, 16), 0});
  Move turned{test::small_cluster({4, 4}), job, test::placement(Role::actor, Stage::train, {2, 1, 4}), {}};
  turned.to = turned.from;
  std::reverse(turned.to.devices.begin(), turned.to.devices.end());
  EXPECT_EQ(turned.assigned(), turned.from.devices);
}

// Against the exact assignment without any constraint, of 128 devices: what is given up so that every axis
// keeps the links that the plan was priced with.
TEST(Assignment, NearTheUnconstrainedBestAt128Devices) {
  plan::Job job;
  job.models.push_back({Role::actor, test::llama3_8b(), 0});
  const std::vector<plan::Layout> layouts = {{128, 1, 1}, {16, 1, 8}, {16, 2, 4},
                                             {8, 8, 2},   {4, 4, 8},  {2, 32, 2}};
  double kept = 0, most = 0;
  for (const plan::Layout& a : layouts) {
    for (const plan::Layout& b : layouts) {
      const Move move{test::a100_cluster(16), job, test::placement(Role::actor, Stage::train, a),
                      test::placement(Role::actor, Stage::train, b)};
      const auto held = move.values();
      const auto columns = best_assignment(held, 128);
      std::vector<int32_t> best;
      for (const int32_t column : columns) best.push_back(move.to.devices[static_cast<size_t>(column)]);
      const double here = move.kept(held, move.assigned()), there = move.kept(held, best);
      EXPECT_GE(here, 0.3 * there);
      EXPECT_GE(here, move.kept(held, move.to.devices));
      kept += here;
      most += there;
    }
  }
  EXPECT_GE(kept, 0.87 * most);
}

}  // namespace
}  // namespace nereus::elastic
