#include "nereus/simulator/oracle.h"

#include <algorithm>
#include <cmath>

#include "nereus/control/membership.h"
#include "nereus/simulator/engine.h"
#include "nereus/simulator/transition.h"

namespace nereus::simulator {

Oracle::Oracle(const Scenario& scenario, uint64_t seed, Proposals& proposals)
    : scenario_(scenario),
      seed_(seed),
      proposals_(proposals),
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

Oracle::Known& Oracle::known(const plan::Plan& plan) {
  auto state = plan::state_of(plan);
  const auto found = std::ranges::find(known_, state, &Known::state);
  return found != known_.end() ? *found : known_.emplace_back(Known{std::move(state), {}, {}});
}

/// In the middle of the time until the next look.
int64_t Oracle::soon(const View& view) const {
  return std::min(view.step + kEvery / 2, scenario_.steps - 1);
}

/// A step of the world, without its noise.
double Oracle::step_seconds(const View& view, const plan::Plan& plan) {
  WorldOptions world = scenario_.world;
  world.noise = 0;
  Conditions conditions{{}, 1, seed_, view.step};
  const int32_t each = scenario_.machine().devices;
  for (const int32_t machine : machine_numbers(scenario_.cluster, view.cluster))
    for (int32_t i = 0; i < each; ++i)
      conditions.slowness.push_back(slowness_[static_cast<size_t>(machine * each + i)]);
  Known& known = this->known(plan);
  const PlanRun run(world, view.cluster, scenario_.job, plan, known.sync);
  known.sync = run.weight_sync();
  const auto& job = scenario_.job;
  const auto lengths =
      proposals_.curve().sample(soon(view), job.prompts, job.completions, world.prompt_variation, seed_);
  const auto report = run.step(lengths, conditions);
  return report.out_of_memory ? INFINITY : report.seconds;
}

double Oracle::transition_seconds(const View& view, const plan::Plan& plan) {
  const auto now = machine_numbers(scenario_.cluster, view.cluster);
  const plan::Plan to = in_whole(plan, scenario_.cluster, now);
  if (!running_) return 0;
  const plan::Plan from = in_whole(*running_, scenario_.cluster, machine_numbers(scenario_.cluster, before_));
  if (from == to) return 0;
  auto& seconds = known(plan).transition;
  if (seconds) return *seconds;
  TransitionCase change{&from, &to, std::vector<bool>(slowness_.size(), true), false};
  const int32_t each = scenario_.machine().devices;
  for (const int32_t machine : now)
    for (int32_t i = 0; i < each; ++i) change.lost[static_cast<size_t>(machine * each + i)] = false;
  seconds = transition(scenario_.world, links_, scenario_.job, change).seconds;
  return *seconds;
}

/// Nothing where it takes no less than `bound` seconds a step even if the change took no time.
std::optional<Oracle::Priced> Oracle::price(const View& view, const plan::Plan& plan, double bound) {
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
  known_.clear();
  auto plans = proposals_.of(view.cluster, soon(view));
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
