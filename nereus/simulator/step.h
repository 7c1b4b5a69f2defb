#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nereus/cluster/cluster.h"
#include "nereus/plan/plan.h"
#include "nereus/simulator/batches.h"
#include "nereus/simulator/decoding.h"
#include "nereus/simulator/plan_memory.h"
#include "nereus/simulator/world.h"

namespace nereus::simulator {

/// What differs from step to step.
struct Conditions {
  std::vector<double> slowness;  ///< by device of the cluster: seconds over those at speed 1
  double drift = 1;              ///< of everything, likewise
  uint64_t seed = 0;             ///< of noise and fragmentation: the same for every policy
  int64_t step = 0;
};

struct StageReport {
  plan::ModelStage what;
  double start = 0, end = 0;  ///< seconds since the step began

  double seconds() const { return end - start; }
};

/// What one step did.
struct StepReport {
  double seconds = 0;
  double weight_sync = 0;
  std::vector<StageReport> stages;           ///< in the order of the plan
  std::vector<double> peaks;                 ///< bytes, by device; 0 where nothing runs
  DecodingResult decoding;                   ///< of the slowest replica
  std::optional<OutOfMemory> out_of_memory;  ///< the step ended there
};

/// A plan set up in the world: the rates of its groups are worked out once, then steps are run. Immutable;
/// thread-safe.
class PlanRun {
 public:
  /// REQUIRES: a placement for every model-stage of the job, on devices of the cluster.
  PlanRun(const WorldOptions& world, cluster::Cluster cluster, plan::Job job, plan::Plan plan);
  ~PlanRun();
  PlanRun(PlanRun&&) noexcept;
  PlanRun& operator=(PlanRun&&) noexcept;

  /// Seconds in which trained weights reach the models' other stages; plans with the same state
  /// (plan::state_of) on the same cluster have the same.
  double weight_sync() const;
  /// Weight sync of so many seconds, generation, then inference, then training; stages run at the same time
  /// where they share no device.
  StepReport step(const Batches& batches, const Conditions& conditions, double weight_sync) const;
  StepReport step(const Batches& batches, const Conditions& conditions) const {
    return step(batches, conditions, weight_sync());
  }
  const plan::Plan& plan() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace nereus::simulator
