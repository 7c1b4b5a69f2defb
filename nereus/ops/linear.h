#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace nereus::ops {

/// Where one module's part of a fused linear layer lies: its rows of the output and of A and B.
struct LowRankPart {
  int64_t out_begin = 0;  ///< first output row of the module in the fused layer
  int64_t out_rows = 0;
  int64_t a_begin = 0;  ///< first row of its A in the stacked A
  int64_t b_begin = 0;  ///< first row of its B in the stacked B
};

/// LoRA on a fused linear layer (Hu et al. 2021, https://arxiv.org/abs/2106.09685): for each part, y[:, part]
/// += scale · x Aᵀ Bᵀ. A's of the parts are stacked, and so are the B's.
struct LowRank {
  at::Tensor a;  ///< [parts · rank, in]
  at::Tensor b;  ///< [Σ out_rows, rank]
  std::vector<LowRankPart> parts;
  float scale = 1;
  bool defined() const { return a.defined(); }
};

/// y [tokens, out] = x [tokens, in] · weightᵀ (+ the adapter's part), fp32, with gradients for those of x,
/// weight, A and B that want one.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const LowRank& low_rank);

/// linear(rms_norm(x, norm_weight, eps), ...) and linear(swiglu(gate_up), ...). The layer's input is not kept
/// for the backward pass but computed again there: a third less memory of activations for little time.
at::Tensor norm_linear(const at::Tensor& x, const at::Tensor& norm_weight, double eps,
                       const at::Tensor& weight, const LowRank& low_rank);
at::Tensor swiglu_linear(const at::Tensor& gate_up, const at::Tensor& weight, const LowRank& low_rank);

}  // namespace nereus::ops
