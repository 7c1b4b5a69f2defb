#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "nereus/cluster/cluster.h"
#include "nereus/control/observation.h"
#include "nereus/plan/plan.h"
#include "nereus/simulator/step.h"

namespace nereus::simulator {

/// What a policy is told when it is asked.
struct View {
  const cluster::Cluster& cluster;  ///< the machines that can be used now, told apart by their names
  double now = 0;                   ///< seconds since the start
  int64_t step = 0, steps_left = 0;
};

/// What the coming step shall run.
struct Answer {
  enum class Action : uint8_t { keep, change, wait };

  Action action = Action::keep;
  plan::Plan plan;        ///< where it changes: on the devices of the view's cluster
  double predicted = 0;   ///< seconds of a step, where the policy has an opinion
  double transition = 0;  ///< the same of the change
  std::string reason;
};

/// Decides which plan runs. The same calls come for every policy; between them it sees nothing of the world.
/// Not thread-safe.
class Policy {
 public:
  virtual ~Policy() = default;

  virtual std::string name() const = 0;
  virtual Answer begin(const View& view) = 0;
  /// `observation`: devices are numbered as in the last view.
  virtual Answer after_step(const View& view, const control::Observation& observation) = 0;
  /// Machines came or went within a step, or while the policy waits.
  virtual Answer devices_changed(const View& view) = 0;
  /// The step that was tried ran out of memory; the job starts again from its last checkpoint.
  virtual Answer out_of_memory(const View& view, const OutOfMemory& what) = 0;
  /// Whether a change stops the job and starts it anew, instead of changing in place.
  virtual bool restarts() const { return false; }
};

}  // namespace nereus::simulator
