#pragma once

#include <limits>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::rl {

/// Adaptive weight of the entropy bonus (Skywork-OR1, arXiv:2505.22312).
struct EntropyControlOptions {
  double target = 0.2;  ///< mean entropy of the trained tokens, nats
  double step = 0.005;  ///< change of the coefficient after each optimizer step
  double min = 0.0;     ///< bounds of the coefficient
  double max = 1.0;
};

/// State of the control, saved with a checkpoint.
struct EntropyControl {
  double coefficient = 0.0;
  double last_entropy = std::numeric_limits<double>::infinity();  ///< of the step before; none yet: no bonus
};

/// The coefficient for the coming step (LossOptions::entropy_coef): it acts only at or below the target.
double applied_coefficient(const EntropyControl& control, const EntropyControlOptions& options);

/// Moves the coefficient up at or below the target and down above it, after a step of mean entropy `entropy`.
void update(EntropyControl& control, double entropy, const EntropyControlOptions& options);

/// Entropy below which tokens are not trained, so that about the fraction `quantile` of them is: the
/// (1 - quantile) quantile of the entropies of all active tokens of the global batch, linearly interpolated
/// (Wang et al., "Beyond the 80/20 Rule", arXiv:2506.01939). Without tokens: 0.
double entropy_threshold(std::vector<float> entropies, double quantile);

Status validate(const EntropyControlOptions& options);

}  // namespace nereus::rl
