#include "nereus/simulator/policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/simulator/engine.h"
#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

Outcome run(const Scenario& scenario, const std::string& name, uint64_t seed = 1) {
  const auto curve = scenario.curve();
  Samples samples(scenario, curve);
  Proposals proposals(scenario, samples);
  auto policy = value_or_throw(make_policy(name, scenario, seed, proposals));
  EXPECT_EQ(policy->name(), name);
  return simulate(scenario, samples, *policy, seed);
}

TEST(Policies, AllRunTheSameWorld) {
  auto scenario = test::small_scenario();
  scenario.job = test::small_job(true);
  for (const auto& policy : known_policies()) {
    const auto outcome = run(scenario, std::string(policy.name));
    EXPECT_EQ(outcome.steps, 40) << policy.name << ": " << outcome.note;
    EXPECT_EQ(outcome.out_of_memory, 0) << policy.name;
  }
  EXPECT_THAT(check_policy("none").error().message, testing::HasSubstr("oracle"));
}

TEST(Policies, OnlyThoseThatAdaptGoOnWithHalfTheMachines) {
  auto scenario = test::small_scenario();
  scenario.hours = 0.5;
  scenario.availability = {{0, 4}, {15, 2}, {4000, 2}};
  scenario.world.notice_seconds = 1;
  for (const auto& [name, goes_on] : std::vector<std::pair<std::string, bool>>{{"fixed", false},
                                                                               {"shared-pool", false},
                                                                               {"elastic-data", true},
                                                                               {"elastic-data-tuned", true},
                                                                               {"adaptive", true},
                                                                               {"oracle", true}}) {
    const auto outcome = run(scenario, name);
    EXPECT_EQ(outcome.steps == 40, goes_on) << name;
    EXPECT_EQ(outcome.waiting > 0, !goes_on) << name;
  }
}

TEST(Policies, TheOracleIsNotBeatenByMuch) {
  auto scenario = test::small_scenario();
  scenario.job = test::small_job(true);
  scenario.availability = {{0, 4}, {40, 2}, {80, 3}, {9000, 3}};
  scenario.world.notice_seconds = scenario.world.boot_seconds = 5;
  const double oracle = run(scenario, "oracle").step_latency();
  for (const std::string name : {"adaptive", "elastic-data"})
    EXPECT_LT(oracle, 1.03 * run(scenario, name).step_latency());
}

// One failed machine ends the run: it goes on with those that are left [verl 1314].
TEST(Policies, Fault60_FailedMachinesDoNotEndTheRun) {
  auto scenario = test::small_scenario();
  scenario.world.failures_per_machine_day = 300;
  scenario.world.repair_seconds = 20;
  const auto outcome = run(scenario, "adaptive");
  EXPECT_EQ(outcome.steps, 40) << outcome.note;
  EXPECT_GT(outcome.lost_steps + static_cast<int64_t>(outcome.changes.size()), 0);
}

}  // namespace
}  // namespace nereus::simulator
