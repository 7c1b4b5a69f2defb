#pragma once

#include <ATen/core/Tensor.h>

namespace nereus::rl {

/// CISPO (MiniMax-M1, arXiv:2506.13585): -min(ratio, max) A log p, the weight without gradient, so that no
/// token loses its gradient to clipping. All [tokens].
at::Tensor cispo_loss(const at::Tensor& ratio, const at::Tensor& advantage, const at::Tensor& logprob,
                      double max_ratio);

}  // namespace nereus::rl
