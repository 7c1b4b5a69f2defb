#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "nereus/cluster/cluster.h"
#include "nereus/plan/plan.h"
#include "nereus/simulator/samples.h"
#include "nereus/simulator/scenario.h"

namespace nereus::simulator {

/// The plans that an oracle chooses from: the best of two searches, one of them with the planner's constants
/// nearest to the world's. Machines are all alike and lengths follow the step, so that they are the same in
/// every run of a scenario: searched once. Not thread-safe.
class Proposals {
 public:
  /// Both outlive this.
  Proposals(const Scenario& scenario, Samples& samples) : scenario_(scenario), samples_(samples) {}

  /// On the devices of `cluster`, some of the scenario's machines, for the lengths of `step`.
  const std::vector<plan::Plan>& of(const cluster::Cluster& cluster, int64_t step);
  /// Seconds of a weight sync on so many machines, by what of a plan matters to it: nothing until they are
  /// filled in.
  std::optional<double>& weight_sync(size_t machines, const plan::Plan& state);
  Samples& samples() { return samples_; }

 private:
  std::vector<plan::Plan> search(const cluster::Cluster& cluster, const plan::Lengths& lengths) const;

  const Scenario& scenario_;
  Samples& samples_;
  std::map<std::pair<size_t, const LengthStep*>, std::vector<plan::Plan>> known_;  ///< by machines, lengths
  std::map<size_t, std::deque<std::pair<plan::Plan, std::optional<double>>>> syncs_;  ///< by machines
};

}  // namespace nereus::simulator
