#include "nereus/ops/adamw.h"

#include <ATen/TensorOperators.h>

namespace nereus::ops {

void adamw(at::Tensor& weight, const at::Tensor& grad, at::Tensor& m, at::Tensor& v, const AdamStep& s) {
  const at::Tensor g = grad.contiguous();
  if (weight.is_cpu()) {
    kernels::adamw(weight.data_ptr<float>(), g.const_data_ptr<float>(), m.data_ptr<float>(),
                   v.data_ptr<float>(), weight.numel(), s);
    return;
  }
  const at::Tensor scaled = g * s.grad_scale;
  m.mul_(s.beta1).add_(scaled, 1 - s.beta1);
  v.mul_(s.beta2).addcmul_(scaled, scaled, 1 - s.beta2);
  weight.mul_(1 - s.lr * s.weight_decay);
  weight.addcdiv_(m, (v / s.correction2).sqrt_().add_(s.eps), -s.lr / s.correction1);
}

double sum_of_squares(const at::Tensor& t) {
  if (!t.is_cpu()) return t.square().sum().item<double>();
  const at::Tensor flat = t.contiguous();
  return kernels::sum_of_squares(flat.const_data_ptr<float>(), flat.numel());
}

}  // namespace nereus::ops
