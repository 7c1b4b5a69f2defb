#include "nereus/simulator/oracle.h"

#include <algorithm>
#include <cmath>

#include "nereus/control/membership.h"
#include "nereus/plan/memory.h"
#include "nereus/plan/search.h"
#include "nereus/simulator/engine.h"
#include "nereus/simulator/transition.h"

namespace nereus::simulator {

namespace {

/// The planner's constants nearest to the world's.
plan::Calibration constants_of(const WorldOptions& world) {
  plan::Calibration calibration;
  calibration.prefill_efficiency = world.prefill_efficiency;
  calibration.train_efficiency = world.train_efficiency;
  calibration.infer_efficiency = world.infer_efficiency;
  calibration.memory_efficiency = world.memory_efficiency;
  calibration.decode_overhead = world.decode_seconds;
  calibration.overlap_slowdown = world.overlap_slowdown;
  return calibration;
}

}  // namespace

Oracle::Oracle(const Scenario& scenario, uint64_t seed)
    : scenario_(scenario),
      seed_(seed),
      curve_(scenario.curve()),
      links_(scenario.cluster, scenario.world.link_efficiency, scenario.world.network_efficiency,
             scenario.world.storage_gb_s * 1e9),
      timeline_(Availability(scenario.availability), scenario.machines(), scenario.world,
                scenario.hours * 3600, seed),
      slowness_(device_slowness(scenario, seed)) {}

Answer Oracle::after_step(const View& view, const control::Observation& /*observation*/) {
  if (control::same_devices(view.cluster, before_) && view.step - last_ < kEvery) return {};
  return decide(view);
}

Answer Oracle::out_of_memory(const View& view, const OutOfMemory& /*what*/) {
  running_.reset();
  return decide(view);
}

std::vector<plan::Plan> Oracle::proposals(const View& view, const plan::Job& job) const {
  plan::SearchOptions options;
  options.top = 8;
  options.deadline = 60;  // not cut short by a busy machine
  std::vector<plan::Plan> plans;
  for (const auto& calibration : {constants_of(scenario_.world), plan::Calibration{}}) {
    for (auto& candidate : plan::search(view.cluster, job, calibration, options).best)
      if (std::ranges::find(plans, candidate.plan) == plans.end()) plans.push_back(std::move(candidate.plan));
  }
  return plans;
}

/// A step of the world, without its noise.
double Oracle::step_seconds(const View& view, const plan::Plan& plan) const {
  WorldOptions world = scenario_.world;
  world.noise = 0;
  Conditions conditions{{}, 1, seed_, view.step};
  const int32_t each = scenario_.machine().devices;
  for (const int32_t machine : machine_numbers(scenario_.cluster, view.cluster))
    for (int32_t i = 0; i < each; ++i)
      conditions.slowness.push_back(slowness_[static_cast<size_t>(machine * each + i)]);
  const PlanRun run(world, view.cluster, scenario_.job, plan);
  const int64_t soon = std::min(view.step + kEvery / 2, scenario_.steps - 1);
  const auto report = run.step(
      curve_.sample(soon, scenario_.job.prompts, scenario_.job.completions, world.prompt_variation, seed_),
      conditions);
  return report.out_of_memory ? INFINITY : report.seconds;
}

double Oracle::transition_seconds(const View& view, const plan::Plan& plan) const {
  const auto now = machine_numbers(scenario_.cluster, view.cluster);
  const plan::Plan to = in_whole(plan, scenario_.cluster, now);
  if (!running_) return 0;
  const plan::Plan from = in_whole(*running_, scenario_.cluster, machine_numbers(scenario_.cluster, before_));
  if (from == to) return 0;
  TransitionCase change{&from, &to, std::vector<bool>(slowness_.size(), true), false};
  const int32_t each = scenario_.machine().devices;
  for (const int32_t machine : now)
    for (int32_t i = 0; i < each; ++i) change.lost[static_cast<size_t>(machine * each + i)] = false;
  return transition(scenario_.world, links_, scenario_.job, change).seconds;
}

/// Nothing where it takes no less than `bound` seconds a step even if the change took no time.
std::optional<Oracle::Priced> Oracle::price(const View& view, const plan::Plan& plan, double bound) const {
  const double step = step_seconds(view, plan);
  if (!std::isfinite(step) || step > bound * (1 + 1e-12)) return std::nullopt;
  const double until_change = timeline_.next_change(view.now) - view.now;
  const double steps =
      std::clamp(until_change / step, 1.0, static_cast<double>(std::max<int64_t>(view.steps_left, 1)));
  Priced priced{plan, step, transition_seconds(view, plan), 0};
  priced.total = (step * steps + priced.transition) / steps;
  return priced;
}

Answer Oracle::decide(const View& view) {
  last_ = view.step;
  plan::Job job = scenario_.job;
  job.lengths = curve_.lengths(std::min(view.step + kEvery / 2, scenario_.steps - 1));
  auto plans = proposals(view, job);
  if (running_)
    if (auto same = control::carry_over(*running_, before_, view.cluster)) plans.push_back(std::move(*same));
  std::optional<Priced> best;
  for (const auto& plan : plans) {
    const auto priced = price(view, plan, best ? best->total : INFINITY);
    if (priced && (!best || priced->total < best->total)) best = priced;
  }
  if (!best) return {Answer::Action::wait, {}, 0, 0, "nothing fits"};
  running_ = best->plan;
  before_ = view.cluster;
  return {Answer::Action::change, best->plan, best->step, best->transition,
          "the best of what the searches propose"};
}

}  // namespace nereus::simulator
