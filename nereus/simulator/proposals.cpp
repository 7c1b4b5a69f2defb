#include "nereus/simulator/proposals.h"

#include <algorithm>

#include "nereus/plan/search.h"

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

const std::vector<plan::Plan>& Proposals::of(const cluster::Cluster& cluster, int64_t step) {
  const auto [found, added] = known_.try_emplace({cluster.machines.size(), &samples_.curve().at(step)});
  if (added) found->second = search(cluster, samples_.curve().lengths(step));
  return found->second;
}

std::optional<double>& Proposals::weight_sync(size_t machines, const plan::Plan& state) {
  auto& known = syncs_[machines];
  for (auto& [plan, seconds] : known)
    if (plan == state) return seconds;
  return known.emplace_back(state, std::nullopt).second;
}

std::vector<plan::Plan> Proposals::search(const cluster::Cluster& cluster,
                                          const plan::Lengths& lengths) const {
  plan::Job job = scenario_.job;
  job.lengths = lengths;
  plan::SearchOptions options;
  options.top = 8;
  options.deadline = 60;  // not cut short by a busy machine
  std::vector<plan::Plan> plans;
  for (const auto& calibration : {constants_of(scenario_.world), plan::Calibration{}}) {
    for (auto& candidate : plan::search(cluster, job, calibration, options).best)
      if (std::ranges::find(plans, candidate.plan) == plans.end()) plans.push_back(std::move(candidate.plan));
  }
  return plans;
}

}  // namespace nereus::simulator
