#include "nereus/rl/vespo.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>

#include <cmath>

namespace nereus::rl {
namespace {

at::Tensor by_sign(const at::Tensor& advantage, double positive, double negative) {
  return at::where(advantage.ge(0), at::full_like(advantage, positive), at::full_like(advantage, negative));
}

}  // namespace

at::Tensor vespo_loss(const ActiveBatch& batch, const at::Tensor& correction, const VespoOptions& options) {
  // The least w that the paper's code knows is 1e-8: a masked token's weight of 0 counts as that.
  const double least = std::log(1e-8);
  const at::Tensor token = batch.log_ratio.detach() + correction.log().clamp(least, 20.0) * batch.mask;
  const at::Tensor log_w = spread(sum_by_sequence(token, batch).clamp(least, 20.0), batch);
  const at::Tensor k = by_sign(batch.advantage, options.k_pos, options.k_neg);
  const at::Tensor lambda = by_sign(batch.advantage, options.lambda_pos, options.lambda_neg);
  const at::Tensor phi = (lambda + k * log_w - lambda * log_w.exp()).exp();
  return -phi * batch.advantage * batch.logprob;
}

}  // namespace nereus::rl
