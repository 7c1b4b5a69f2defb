#pragma once

#include <optional>
#include <vector>

#include "nereus/simulator/network.h"
#include "nereus/simulator/policy.h"
#include "nereus/simulator/proposals.h"
#include "nereus/simulator/scenario.h"
#include "nereus/simulator/step.h"
#include "nereus/simulator/timeline.h"

namespace nereus::simulator {

/// Knows the world: prices the best plans of several searches by a step of the world itself with the lengths
/// to come, transitions by its links, and the time until the machines change by the trace. Not the best that
/// there could be: plans that no search proposes are not among its choices.
class Oracle final : public Policy {
 public:
  /// `scenario` and `proposals` outlive this.
  Oracle(const Scenario& scenario, uint64_t seed, Proposals& proposals);

  std::string name() const override { return "oracle"; }
  Answer begin(const View& view) override { return decide(view); }
  Answer after_step(const View& view, const control::Observation& observation) override;
  Answer devices_changed(const View& view) override { return decide(view); }
  Answer out_of_memory(const View& view, const OutOfMemory& what) override;

 private:
  struct Priced {
    plan::Plan plan;
    double step = 0, transition = 0, total = 0;
  };

  /// What plans with the same state have in common.
  struct Known {
    plan::Plan state;
    std::optional<double> transition;  ///< seconds
  };

  /// What all plans of one decision have in common.
  struct Case {
    const View& view;
    Batches batches;
    Conditions conditions;
    std::optional<plan::Plan> stay = {};  ///< the one that runs, where its devices are still there
    std::vector<Known> known = {};

    Known& of(const plan::Plan& plan);
  };

  Answer decide(const View& view);
  int64_t soon(const View& view) const;
  Case case_of(const View& view) const;
  std::optional<Priced> price(Case& now, const plan::Plan& plan, double bound) const;
  double transition_seconds(Case& now, const plan::Plan& plan) const;

  static constexpr int64_t kEvery = 20;  ///< steps after which lengths are looked at anew

  const Scenario& scenario_;
  WorldOptions quiet_;  ///< the world without its noise
  uint64_t seed_;
  Proposals& proposals_;
  Links links_;  ///< of all machines
  Timeline timeline_;
  std::vector<double> slowness_;       ///< by device of all machines
  std::optional<plan::Plan> running_;  ///< in the numbers of `before_`
  cluster::Cluster before_;
  int64_t last_ = 0;  ///< step of the last decision
};

}  // namespace nereus::simulator
