#pragma once

#include <ATen/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace nereus::ops {

/// A value of tensors, as our operation computes it and as LibTorch's operators do.
using Function = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

inline double relative_error(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.detach().to(at::kDouble), y = b.detach().to(at::kDouble);
  return x.sub(y).norm().item<double>() / std::max(y.norm().item<double>(), 1e-12);
}

/// Compares value and gradients of `ours` in fp32 with `reference` in double, for one random direction of the
/// incoming gradient.
inline void compare(const Function& ours, const Function& reference, const std::vector<at::Tensor>& inputs,
                    double tolerance = 2e-5) {
  std::vector<at::Tensor> single, exact;
  for (const at::Tensor& t : inputs) {
    single.push_back(t.detach().clone().requires_grad_());
    exact.push_back(t.detach().to(at::kDouble).requires_grad_());
  }
  const at::Tensor y = ours(single), expected = reference(exact);
  EXPECT_LT(relative_error(y, expected), tolerance);
  const at::Tensor direction = at::randn(expected.sizes(), at::kDouble);
  y.backward(direction.to(at::kFloat));
  expected.backward(direction);
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(single[i].grad().defined(), exact[i].grad().defined()) << "input " << i;
    EXPECT_LT(relative_error(single[i].grad(), exact[i].grad()), tolerance) << "gradient of input " << i;
  }
}

}  // namespace nereus::ops
