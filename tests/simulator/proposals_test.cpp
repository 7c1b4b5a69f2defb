#include "nereus/simulator/proposals.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nereus/plan/search.h"
#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

TEST(Proposals, AreThoseOfTheSearchOnTheMachinesThatAreThere) {
  auto scenario = test::small_scenario();
  scenario.lengths = {{300, 0.01, 128}, {600, 0.05, 128}};
  const auto curve = scenario.curve();
  Samples samples(scenario, curve);
  Proposals proposals(scenario, samples);
  const cluster::Cluster two = some_machines(scenario.cluster, {1, 3});
  for (const int64_t step : {int64_t{0}, scenario.steps - 1}) {
    auto job = scenario.job;
    job.lengths = scenario.curve().lengths(step);
    const auto best = plan::search(two, job, {}, {}).best.front().plan;
    const auto& plans = proposals.of(two, step);
    EXPECT_NE(std::ranges::find(plans, best), plans.end());
    for (const auto& plan : plans) EXPECT_TRUE(plan::fits(two, job, plan));
  }
}

TEST(Proposals, AreSearchedOnceForAsManyMachinesAndTheSameLengths) {
  auto scenario = test::small_scenario();
  scenario.lengths = {{300, 0.01, 128}, {600, 0.05, 128}};
  const auto curve = scenario.curve();
  Samples samples(scenario, curve);
  Proposals proposals(scenario, samples);
  const auto* plans = &proposals.of(some_machines(scenario.cluster, {0, 1}), 0);
  EXPECT_EQ(&proposals.of(some_machines(scenario.cluster, {2, 3}), 1), plans);
  EXPECT_NE(&proposals.of(some_machines(scenario.cluster, {0, 1}), scenario.steps - 1), plans);
  EXPECT_NE(&proposals.of(some_machines(scenario.cluster, {0}), 0), plans);
}

}  // namespace
}  // namespace nereus::simulator
