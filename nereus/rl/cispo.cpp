#include "nereus/rl/cispo.h"

#include <ATen/TensorOperators.h>

namespace nereus::rl {

at::Tensor cispo_loss(const at::Tensor& ratio, const at::Tensor& advantage, const at::Tensor& logprob,
                      double max_ratio) {
  return -ratio.detach().clamp_max(max_ratio) * advantage * logprob;
}

}  // namespace nereus::rl
