#pragma once

#include <ATen/core/Tensor.h>

/// Operations of the transformer with their gradients: fp32; on the CPU by nereus::kernels, on other devices
/// by LibTorch's own operators.
namespace nereus::ops {

/// Rows of table [vocab, hidden] by ids [tokens] (int32): [tokens, hidden].
at::Tensor embedding(const at::Tensor& table, const at::Tensor& ids);

/// x / rms(x) · weight over the last dim (Zhang & Sennrich 2019). x [tokens, hidden], weight [hidden].
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

/// silu(gate) · up of gate_up [tokens, 2 · n] (gate first): [tokens, n] (Shazeer 2020).
at::Tensor swiglu(const at::Tensor& gate_up);

}  // namespace nereus::ops
