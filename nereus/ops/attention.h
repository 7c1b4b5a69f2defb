#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "nereus/kernels/attention.h"

namespace nereus::ops {

/// A forest of token runs in one packed batch, with the storage that kernels::AttentionPlan points into.
struct AttentionPlan {
  std::vector<kernels::QueryRun> runs;
  std::vector<kernels::KeySpan> spans;
  kernels::AttentionPlan view() const { return {runs, spans}; }
};

struct AttentionShape {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  int64_t q_width() const { return heads * head_dim; }
  int64_t kv_width() const { return kv_heads * head_dim; }
};

/// Rotates the queries and keys of qkv [tokens, q_width + 2 · kv_width] by their positions [tokens] (int32)
/// and attends along the plan over the keys and values of the same batch; out [tokens, q_width]. Takes qkv
/// over: its memory is rotated in place, so the caller must not use it afterwards.
at::Tensor packed_attention(at::Tensor qkv, const at::Tensor& positions, const at::Tensor& frequencies,
                            const AttentionShape& shape, std::shared_ptr<const AttentionPlan> plan);

/// Without gradients: rotates qkv in place, stores its keys and values in rows `slots` [tokens] (int64) of
/// `keys` and `values` [rows, kv_width] (fp32 or bf16), then attends along the plan over that store.
at::Tensor paged_attention(at::Tensor qkv, const at::Tensor& positions, const at::Tensor& frequencies,
                           const AttentionShape& shape, const AttentionPlan& plan, const at::Tensor& slots,
                           at::Tensor keys, at::Tensor values);

}  // namespace nereus::ops
