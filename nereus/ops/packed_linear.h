#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "nereus/kernels/gemm.h"
#include "nereus/ops/linear.h"

namespace nereus::ops {

/// A snapshot of a fused layer's adapter, transposed for few rows. Empty: no adapter.
class PackedLowRank {
 public:
  PackedLowRank() = default;
  explicit PackedLowRank(const LowRank& low_rank);

  /// y [tokens, out] += scale · x [tokens, in] · Aᵀ · Bᵀ, part by part.
  void add(const at::Tensor& x, at::Tensor& y) const;

 private:
  struct Part {
    at::Tensor a, b;  ///< [in, rank], [rank, out_rows]
    int64_t out_begin;
  };
  std::vector<Part> parts_;
  float scale_ = 1;
};

/// A linear layer for sampling: weights packed, no gradients. Immutable, thread-safe.
class PackedLinear {
 public:
  /// For products of the precision that holds now (matmul_precision).
  PackedLinear(const at::Tensor& weight, kernels::Element element);

  /// y [tokens, out] = x [tokens, in] · Wᵀ, fp32 whatever the weights' type.
  at::Tensor forward(const at::Tensor& x) const;

  kernels::Element element() const { return element_; }
  int64_t in() const { return weights_.in(); }
  int64_t out() const { return weights_.out(); }

 private:
  kernels::Element element_;
  kernels::PackedWeights weights_;
};

}  // namespace nereus::ops
