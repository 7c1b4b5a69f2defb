#pragma once

#include <ATen/core/Tensor.h>

namespace nereus::ops {

struct ChosenLogprob {
  at::Tensor logprob;  ///< [tokens], with gradient
  at::Tensor entropy;  ///< [tokens], undefined unless asked for
};

struct LogprobOptions {
  float temperature = 1;          ///< logits are divided by it
  bool entropy = false;           ///< compute the entropy of each row's distribution
  bool entropy_gradient = false;  ///< and let gradients flow through it
  int64_t chunk = 256;            ///< rows of logits that exist at once: memory is chunk · vocab · 4 bytes
};

/// Log-probs of targets [tokens] (int32) under softmax(hidden · headᵀ / temperature); hidden [tokens,
/// hidden], head [vocab, hidden]. The whole [tokens, vocab] matrix never exists. Where the head is frozen,
/// the gradient of each row is kept from the forward pass (it is linear in the incoming gradient of that
/// row), so that logits are computed once; a trained head computes them again in the backward pass.
ChosenLogprob chosen_logprob(const at::Tensor& hidden, const at::Tensor& head, const at::Tensor& targets,
                             const LogprobOptions& options);

}  // namespace nereus::ops
