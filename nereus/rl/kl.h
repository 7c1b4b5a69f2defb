#pragma once

#include <ATen/core/Tensor.h>

namespace nereus::rl {

/// k3 = e^d - d - 1 with d = reference - policy log-prob, clamped to +-20: an estimate of the KL divergence
/// of the policy from the reference that is never negative (Schulman, "Approximating KL divergence", 2020).
/// [tokens], with the policy's gradient.
at::Tensor k3(const at::Tensor& logprob, const at::Tensor& ref_logprob);

}  // namespace nereus::rl
