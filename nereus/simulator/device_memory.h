#pragma once

#include <vector>

#include "nereus/plan/plan.h"
#include "nereus/simulator/kernel_time.h"
#include "nereus/simulator/world.h"

namespace nereus::simulator {

/// Bytes of one rank of a model-stage in the world.
struct RankMemory {
  double kept = 0;       ///< between its turns; 0 where it leaves when idle
  double resident = 0;   ///< what is kept, or fetched, while it runs
  double transient = 0;  ///< what comes and goes while it runs: subject to fragmentation
  double kv_token = 0;   ///< of a token of KV, where it generates
  double weights = 0;    ///< of `resident`, those that another stage of the model may share
};

/// Of the ranks with pipeline index `pipeline`, when the largest micro-batch has `largest` tokens and a
/// replica runs `in_step` of them one after another. Weights in job.weight_bytes, gradients in
/// job.gradient_bytes, master weights and two moments in 4 bytes each; activations as docs/simulator.md has
/// them.
RankMemory rank_memory(const WorldOptions& world, const plan::Job& job, const plan::Placement& placement,
                       int32_t pipeline, double largest, int64_t in_step);

}  // namespace nereus::simulator
