#include "nereus/simulator/oracle.h"

#include <algorithm>
#include <cmath>

#include "nereus/control/membership.h"
#include "nereus/simulator/engine.h"
#include "nereus/simulator/transition.h"

namespace nereus::simulator {

Oracle::Oracle(const Scenario& scenario, uint64_t seed, Proposals& proposals)
    : scenario_(scenario),
      quiet_(scenario.world),
      seed_(seed),
      proposals_(proposals),
      links_(scenario.cluster, scenario.world.link_efficiency, scenario.world.network_efficiency,
             scenario.world.storage_gb_s * 1e9),
      timeline_(Availability(scenario.availability), scenario.machines(), scenario.world,
                scenario.hours * 3600, seed),
      slowness_(device_slowness(scenario, seed)) {
  quiet_.noise = 0;
}

Answer Oracle::after_step(const View& view, const control::Observation& /*observation*/) {
  if (control::same_devices(view.cluster, before_) && view.step - last_ < kEvery) return {};
  return decide(view);
}

Answer Oracle::out_of_memory(const View& view, const OutOfMemory& /*what*/) {
  running_.reset();
  return decide(view);
}

Oracle::Known& Oracle::Case::of(const plan::Plan& plan) {
  auto state = plan::state_of(plan);
  for (auto& placement : state.placements) {
    placement.leaves_when_idle = false;           // what leaves is sent from where it ran
    if (placement.zero == 2) placement.zero = 1;  // gradients are not sent
  }
  const auto found = std::ranges::find(known, state, &Known::state);
  return found != known.end() ? *found : known.emplace_back(Known{std::move(state), {}});
}

/// In the middle of the time until the next look.
int64_t Oracle::soon(const View& view) const {
  return std::min(view.step + kEvery / 2, scenario_.steps - 1);
}

Oracle::Case Oracle::case_of(const View& view) const {
  Conditions conditions{{}, 1, seed_, view.step};
  const int32_t each = scenario_.machine().devices;
  for (const int32_t machine : machine_numbers(scenario_.cluster, view.cluster))
    for (int32_t i = 0; i < each; ++i)
      conditions.slowness.push_back(slowness_[static_cast<size_t>(machine * each + i)]);
  Case now{view, proposals_.samples().of(soon(view), seed_), std::move(conditions)};
  if (running_)
    if (auto same = control::carry_over(*running_, before_, view.cluster)) now.stay = std::move(*same);
  return now;
}

/// Where it takes less than `bound` seconds a step.
std::optional<Oracle::Priced> Oracle::price(Case& now, const plan::Plan& plan, double bound) const {
  const PlanRun run(quiet_, now.view.cluster, scenario_.job, plan);
  auto& sync = proposals_.weight_sync(now.view.cluster.machines.size(), now.of(plan).state);
  if (!sync) sync = run.weight_sync();
  const auto report = run.step(now.batches, now.conditions, *sync);
  if (report.out_of_memory) return std::nullopt;
  Priced priced{plan, report.seconds, 0, 0};
  const double until_change = timeline_.next_change(now.view.now) - now.view.now;
  const double steps = std::clamp(until_change / priced.step, 1.0,
                                  static_cast<double>(std::max<int64_t>(now.view.steps_left, 1)));
  const auto total = [&](double transition) { return (priced.step * steps + transition) / steps; };
  if (running_ && plan != now.stay) {
    // What is too slow with the least that a change takes needs no price of its own.
    if (total(quiet_.group_seconds + quiet_.warm_up_seconds) >= bound) return std::nullopt;
    priced.transition = transition_seconds(now, plan);
  }
  priced.total = total(priced.transition);
  return priced.total < bound ? std::optional(priced) : std::nullopt;
}

/// REQUIRES: the plan is not the one that runs.
double Oracle::transition_seconds(Case& now, const plan::Plan& plan) const {
  auto& seconds = now.of(plan).transition;
  if (seconds) return *seconds;
  const auto machines = machine_numbers(scenario_.cluster, now.view.cluster);
  const plan::Plan to = in_whole(plan, scenario_.cluster, machines);
  const plan::Plan from = in_whole(*running_, scenario_.cluster, machine_numbers(scenario_.cluster, before_));
  TransitionCase change{&from, &to, std::vector<bool>(slowness_.size(), true), false};
  const int32_t each = scenario_.machine().devices;
  for (const int32_t machine : machines)
    for (int32_t i = 0; i < each; ++i) change.lost[static_cast<size_t>(machine * each + i)] = false;
  seconds = transition(scenario_.world, links_, scenario_.job, change).seconds;
  return *seconds;
}

Answer Oracle::decide(const View& view) {
  last_ = view.step;
  Case now = case_of(view);
  std::optional<Priced> best;
  const auto consider = [&](const plan::Plan& plan) {
    if (auto priced = price(now, plan, best ? best->total : INFINITY)) best = std::move(priced);
  };
  if (now.stay) consider(*now.stay);
  for (const auto& plan : proposals_.of(view.cluster, soon(view))) consider(plan);
  if (!best) return {Answer::Action::wait, {}, 0, 0, "nothing fits"};
  running_ = best->plan;
  before_ = view.cluster;
  return {Answer::Action::change, best->plan, best->step, best->transition,
          "the best of what the searches propose"};
}

}  // namespace nereus::simulator
