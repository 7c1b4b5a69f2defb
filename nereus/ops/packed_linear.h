#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "nereus/kernels/gemm.h"
#include "nereus/ops/linear.h"

namespace nereus::ops {

/// A linear layer for sampling: weights packed, no gradients. Immutable, thread-safe.
class PackedLinear {
 public:
  PackedLinear(const at::Tensor& weight, kernels::Element element);

  /// y [tokens, out] = x [tokens, in] · Wᵀ (+ the adapter's part, in fp32 whatever the weights' type).
  at::Tensor forward(const at::Tensor& x, const LowRank& low_rank) const;

  kernels::Element element() const { return element_; }
  int64_t in() const { return weights_.in(); }
  int64_t out() const { return weights_.out(); }

 private:
  kernels::Element element_;
  kernels::PackedWeights weights_;
};

}  // namespace nereus::ops
