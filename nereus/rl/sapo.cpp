#include "nereus/rl/sapo.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>

namespace nereus::rl {

at::Tensor sapo_loss(const at::Tensor& ratio, const at::Tensor& advantage, double positive, double negative) {
  const at::Tensor temperature =
      at::where(advantage.gt(0), at::full_like(advantage, positive), at::full_like(advantage, negative));
  return -(temperature * (ratio - 1.0)).sigmoid() * (4.0 / temperature) * advantage;
}

}  // namespace nereus::rl
