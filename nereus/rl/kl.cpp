#include "nereus/rl/kl.h"

#include <ATen/TensorOperators.h>

namespace nereus::rl {

at::Tensor k3(const at::Tensor& logprob, const at::Tensor& ref_logprob) {
  const at::Tensor d = (ref_logprob - logprob).clamp(-20.0, 20.0);
  return d.exp() - d - 1.0;
}

}  // namespace nereus::rl
