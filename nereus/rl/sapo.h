#pragma once

#include <ATen/core/Tensor.h>

namespace nereus::rl {

/// SAPO (arXiv:2511.20347): -(4 / t) sigmoid(t (ratio - 1)) A, a smooth gate of temperature t instead of
/// clipping; `positive` is t where A > 0, `negative` elsewhere. All [tokens].
at::Tensor sapo_loss(const at::Tensor& ratio, const at::Tensor& advantage, double positive, double negative);

}  // namespace nereus::rl
