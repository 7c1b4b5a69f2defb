#pragma once

#include <ATen/core/Tensor.h>

#include "nereus/base/result.h"

namespace nereus::rl {

struct ValueOptions {
  double clip = 0.2;    ///< how far a value may move from the old one
  double weight = 0.1;  ///< of the value loss in the total
};

struct ValueLoss {
  at::Tensor loss;        ///< scalar with gradient, weight included: this micro-batch's part
  double value_loss = 0;  ///< the same without the weight, to be added over micro-batches
  double clipped = 0;     ///< active tokens on which the clipped term is the larger
};

/// PPO's clipped value loss (Schulman et al., arXiv:1707.06347): mean over the `active_tokens` of the global
/// batch of 0.5 max((v - R)^2, (v_old + clip(v - v_old) - R)^2). All tensors [tokens]; masked entries may be
/// anything. Nothing active: exactly 0.
ValueLoss value_loss(const at::Tensor& values, const at::Tensor& old_values, const at::Tensor& returns,
                     const at::Tensor& mask, double active_tokens, const ValueOptions& options);

Status validate(const ValueOptions& options);

}  // namespace nereus::rl
