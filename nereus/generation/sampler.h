#pragma once

#include <cstdint>
#include <span>

#include "nereus/rollout/types.h"

namespace nereus::generation {

struct Sampled {
  int32_t token = 0;
  float logprob = 0;  ///< of the distribution that it was drawn from, filters included
};

/// Draws a token from `probabilities` [vocab] (temperature applied) by inverting the distribution at `u` in
/// [0, 1), after top-k, top-p and min-p of the options. A pure function.
Sampled sample(std::span<const float> probabilities, const rollout::SamplingOptions& options, double u);

}  // namespace nereus::generation
