#include "nereus/rl/clip_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/min.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/where.h>

namespace nereus::rl {

at::Tensor clip_loss(const at::Tensor& ratio, const at::Tensor& advantage, const ClipOptions& options) {
  const at::Tensor clipped = ratio.clamp(1.0 - options.low, 1.0 + options.high) * advantage;
  const at::Tensor unclipped = (options.delta ? ratio.clamp_max(*options.delta) : ratio) * advantage;
  const at::Tensor loss = -at::minimum(unclipped, clipped);
  if (!options.dual_clip) return loss;
  return at::where(advantage.lt(0), at::minimum(loss, -*options.dual_clip * advantage), loss);
}

}  // namespace nereus::rl
