#pragma once

#include <ATen/core/Tensor.h>

#include "nereus/rl/token_batch.h"

namespace nereus::rl {

struct VespoOptions {
  double k_pos = 2.0, lambda_pos = 3.0;  ///< exponent and decay where A >= 0
  double k_neg = 3.0, lambda_neg = 2.0;  ///< and where A < 0
};

/// VESPO (arXiv:2602.10693): -phi(w) A log p, with w the ratio of the whole sequence, sampler's correction
/// included, and phi(w) = exp(lambda + k log w - lambda w) without gradient; phi(1) = 1.
/// `correction` [tokens] is the bounded weight of each token. Result [tokens].
at::Tensor vespo_loss(const ActiveBatch& batch, const at::Tensor& correction, const VespoOptions& options);

}  // namespace nereus::rl
