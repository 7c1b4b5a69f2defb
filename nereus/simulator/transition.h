#pragma once

#include <vector>

#include "nereus/plan/plan.h"
#include "nereus/simulator/network.h"
#include "nereus/simulator/world.h"

namespace nereus::simulator {

/// What a change of plan takes in the world, by its own links.
struct TransitionReport {
  double seconds = 0;       ///< in which nothing else runs
  double moved = 0;         ///< bytes between devices
  double stored = 0;        ///< bytes from storage
  bool state_lost = false;  ///< a part of the trained state was on lost devices only
};

struct TransitionCase {
  const plan::Plan* from = nullptr;  ///< null: nothing runs, all comes from storage
  const plan::Plan* to = nullptr;
  std::vector<bool> lost;     ///< devices that have gone, by device
  bool from_storage = false;  ///< the whole trained state is read anew (a job that went back)
};

/// Devices of both plans are those of `links`. Trained weights, master weights and moments, and frozen
/// models, come from devices that hold them, else from storage; weights for the other stages of trained
/// models are sent by the next step's weight sync.
TransitionReport transition(const WorldOptions& world, const Links& links, const plan::Job& job,
                            const TransitionCase& change);

}  // namespace nereus::simulator
