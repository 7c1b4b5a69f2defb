#include "nereus/simulator/engine.h"

#include <gtest/gtest.h>

#include "nereus/simulator/fixed_plan.h"
#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using test::plan_of;
using test::small_scenario;

/// A policy of one layout for each number of devices, in place.
class ByDevices final : public Policy {
 public:
  explicit ByDevices(const plan::Job& job) : job_(job) {}
  std::string name() const override { return "by devices"; }
  Answer begin(const View& view) override { return of(view); }
  Answer after_step(const View& view, const control::Observation& seen) override {
    steps_seen_.push_back(seen.step);
    return of(view);
  }
  Answer devices_changed(const View& view) override { return of(view); }
  Answer out_of_memory(const View& view, const OutOfMemory& /*what*/) override { return of(view); }
  const std::vector<int64_t>& steps_seen() const { return steps_seen_; }

 private:
  Answer of(const View& view) const {
    const int32_t devices = view.cluster.devices();
    if (devices == 0) return {Answer::Action::wait, {}, 0, 0, "nothing there"};
    return {Answer::Action::change, plan_of(job_, {devices, 1, 1}), 0, 0, "as many as there are"};
  }
  plan::Job job_;
  std::vector<int64_t> steps_seen_;
};

Outcome run(const Scenario& scenario, uint64_t seed = 1) {
  ByDevices policy(scenario.job);
  const LengthCurve curve = scenario.curve();
  Samples samples(scenario, curve);
  return simulate(scenario, samples, policy, seed);
}

/// Time is spent on steps, changes, the start, waiting or lost work, and on nothing else.
void expect_all_time_accounted_for(const Outcome& outcome) {
  double steps = 0, changes = 0;
  for (const auto& point : outcome.points) steps += point.seconds;
  for (const auto& change : outcome.changes) changes += change.seconds;
  // What was done again is in `wasted`, and so are steps that were cut short.
  EXPECT_NEAR(outcome.elapsed, steps + changes + outcome.starting + outcome.waiting + outcome.wasted,
              1e-6 * outcome.elapsed);
}

TEST(Engine, SteadyRun) {
  const auto scenario = small_scenario();
  const auto outcome = run(scenario);
  EXPECT_EQ(outcome.steps, 40);
  EXPECT_EQ(outcome.samples, 40 * 64);
  EXPECT_EQ(outcome.changes.size(), 0U);
  EXPECT_EQ(outcome.waiting + outcome.wasted, 0);
  EXPECT_GT(outcome.starting, 0);
  expect_all_time_accounted_for(outcome);
  EXPECT_NEAR(outcome.step_latency() * 40, outcome.elapsed, 1e-6);
}

TEST(Engine, SameSeedSameRun) {
  auto scenario = small_scenario();
  scenario.availability = {{0, 4}, {20, 2}, {60, 4}, {5000, 4}};
  scenario.world.boot_seconds = 1;
  scenario.world.notice_seconds = 1;
  const auto a = run(scenario), b = run(scenario), c = run(scenario, 2);
  ASSERT_EQ(a.points.size(), b.points.size());
  for (size_t i = 0; i < a.points.size(); ++i) EXPECT_EQ(a.points[i].time, b.points[i].time);
  EXPECT_EQ(a.elapsed, b.elapsed);
  EXPECT_NE(a.elapsed, c.elapsed);
}

TEST(Engine, ChangesFollowTheMachines) {
  auto scenario = small_scenario();
  scenario.availability = {{0, 4}, {15, 2}, {25, 3}, {5000, 3}};
  scenario.world.boot_seconds = scenario.world.notice_seconds = 1;
  const auto outcome = run(scenario);
  EXPECT_EQ(outcome.steps, 40);
  ASSERT_GE(outcome.changes.size(), 2U);
  EXPECT_EQ(outcome.changes[0].devices, 8);
  EXPECT_TRUE(outcome.changes[0].lost);
  EXPECT_EQ(outcome.changes[1].devices, 12);
  EXPECT_FALSE(outcome.changes[1].lost);
  EXPECT_GT(outcome.changes[0].slower, 0);
  expect_all_time_accounted_for(outcome);
}

TEST(Engine, NothingThereIsWaiting) {
  auto scenario = small_scenario();
  scenario.hours = 2;
  scenario.availability = {{0, 4}, {100, 0}, {1100, 4}, {9000, 4}};
  const auto outcome = run(scenario);
  EXPECT_EQ(outcome.steps, 40);
  EXPECT_GT(outcome.waiting, 900);
  expect_all_time_accounted_for(outcome);
}

TEST(Engine, FailureWithoutNoticeGoesBackToTheCheckpoint) {
  auto scenario = small_scenario();
  scenario.steps = 200;
  scenario.world.failures_per_machine_day = 100;
  scenario.world.repair_seconds = 60;
  scenario.world.checkpoint_every = 50;
  const auto outcome = run(scenario);
  EXPECT_EQ(outcome.steps, 200);
  EXPECT_EQ(outcome.samples, 200 * 64);
  EXPECT_GT(outcome.lost_steps, 0);
  EXPECT_GT(outcome.wasted, 0);
  for (size_t i = 1; i < outcome.points.size(); ++i)  // every step once, in order
    EXPECT_EQ(outcome.points[i].step, outcome.points[i - 1].step + 1);
  expect_all_time_accounted_for(outcome);

  auto often = scenario;
  often.world.checkpoint_every = 5;
  EXPECT_LT(run(often).wasted, outcome.wasted);
}

TEST(Engine, NoticeSavesTheStateOfALeavingMachine) {
  auto scenario = small_scenario();
  scenario.availability = {{0, 4}, {20, 3}, {5000, 3}};
  scenario.world.checkpoint_every = 1000;
  scenario.world.notice_seconds = 15;
  const auto warned = run(scenario);
  scenario.world.notice_seconds = 0;
  const auto surprised = run(scenario);
  EXPECT_LT(warned.wasted, surprised.wasted);
  EXPECT_EQ(warned.lost_steps, 0);  // the step at hand ends before the machine goes
  EXPECT_EQ(surprised.lost_steps, 1);
}

TEST(Engine, OutOfMemoryCostsARestartAndStopsInTheEnd) {
  auto scenario = small_scenario(1, 1);
  scenario.cluster = test::small_cluster(1, 1, 12e9);
  const auto outcome = run(scenario);
  EXPECT_EQ(outcome.steps, 0);
  EXPECT_GT(outcome.out_of_memory, 3);
  EXPECT_NE(outcome.note.find("runs out of memory"), std::string::npos);
}

TEST(Engine, ObservationsComeOncePerStepInOrder) {
  auto scenario = small_scenario();
  ByDevices policy(scenario.job);
  const LengthCurve curve = scenario.curve();
  Samples samples(scenario, curve);
  simulate(scenario, samples, policy, 1);
  ASSERT_EQ(policy.steps_seen().size(), 40U);
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(policy.steps_seen()[i], static_cast<int64_t>(i));
}

TEST(Engine, DevicesOverTime) {
  auto scenario = small_scenario();
  scenario.availability = {{0, 4}, {1000, 2}, {5000, 2}};
  const auto points = devices_over_time(scenario, 1, 1500);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].devices, 16);
  EXPECT_EQ(points[1].devices, 8);
}

}  // namespace
}  // namespace nereus::simulator
