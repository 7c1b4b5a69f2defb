#pragma once

#include <cstdint>
#include <vector>

#include "nereus/plan/time.h"

namespace nereus::plan {

/// A model-stage as the course of a step sees it.
struct Turn {
  ModelStage what;
  double seconds = 0;
  uint32_t conflicts = 0;  ///< bit i: shares a device with turn i, which comes before it
};

/// Seconds until all turns have ended: inference follows generation; training follows inference and the
/// rewards; what shares a device takes turns in the order given. An asynchronous step does not wait for its
/// generation. REQUIRES: fewer than 32 turns, in the order of model_stages.
double course(const std::vector<Turn>& turns, double reward_seconds, bool asynchronous);

/// Which placements share devices, as `conflicts` of turns, by placement.
std::vector<uint32_t> conflicts_of(const Plan& plan);

}  // namespace nereus::plan
