#include "nereus/rl/value_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace nereus::rl {

ValueLoss value_loss(const at::Tensor& values, const at::Tensor& old_values, const at::Tensor& returns,
                     const at::Tensor& mask, double active_tokens, const ValueOptions& options) {
  const at::Tensor is_active = mask.ne(0);
  const at::Tensor zero = at::zeros({}, values.options());
  const at::Tensor v = at::where(is_active, values, zero);
  const at::Tensor old = at::where(is_active, old_values, zero);
  const at::Tensor target = at::where(is_active, returns, zero);
  const at::Tensor unclipped = (v - target).square();
  const at::Tensor clipped = (old + (v - old).clamp(-options.clip, options.clip) - target).square();
  const at::Tensor loss = 0.5 * at::maximum(unclipped, clipped).sum() / std::max(active_tokens, 1.0);
  return {options.weight * loss, loss.item<double>(), clipped.gt(unclipped).sum().item<double>()};
}

Status validate(const ValueOptions& options) {
  if (!(options.clip > 0)) return fail("value.clip: {}, expected more than 0", options.clip);
  if (!(options.weight >= 0)) return fail("value.weight: {}, expected 0 or more", options.weight);
  return {};
}

}  // namespace nereus::rl
