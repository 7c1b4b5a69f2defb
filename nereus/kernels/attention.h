#pragma once

#include <cstdint>
#include <span>

#include "nereus/kernels/matrix.h"

namespace nereus::kernels {

struct AttentionShape {
  int64_t heads = 0;     ///< query heads
  int64_t kv_heads = 0;  ///< divides heads
  int64_t head_dim = 0;  ///< multiple of 8, at most 256
  float scale = 0;       ///< on q·k, usually 1/√head_dim
};

/// Rows [start, start + length) of the key and value store.
struct KeySpan {
  int64_t start = 0, length = 0;
};

/// Consecutive queries (rows [first_row, first_row + rows)) of one sequence. They see the keys of
/// spans[first_span, first_span + span_count), concatenated in that order to L keys, causally aligned at
/// the end: query i of the run sees the first L − rows + 1 + i keys. So one description serves a packed
/// forest of segments (spans: the ancestors' rows, then the segment's own), a prefill over paged blocks and
/// a decode step (rows = 1). REQUIRES: L ≥ rows.
struct QueryRun {
  int64_t first_row = 0, rows = 0;
  int64_t first_span = 0, span_count = 0;
};

struct AttentionPlan {
  std::span<const QueryRun> runs;
  std::span<const KeySpan> spans;
};

/// Keys and values, [rows, kv_heads · head_dim] each, with a row stride in elements; fp32 or bf16.
struct KeyValueStore {
  const void* keys = nullptr;
  const void* values = nullptr;
  int64_t row_stride = 0;
  Element element = Element::f32;
};

/// out[row] = softmax(scale · q kᵀ) v for every run. q, out: [rows, heads · head_dim]. `logsumexp`, where not
/// null, receives [rows, heads] for the backward pass. Never holds a whole [queries, keys] matrix.
/// Thread-safe; results do not depend on the number of threads.
void attention_forward(const AttentionShape& shape, const AttentionPlan& plan, ConstMatrix q,
                       const KeyValueStore& store, Matrix out, float* logsumexp);

/// Gradients of attention_forward for fp32 stores. dq is overwritten; dk and dv ([rows of the store,
/// kv_heads · head_dim]) are added to, so the caller zeroes them. Runs may share ancestors' keys: their
/// gradients add up in a fixed order.
void attention_backward(const AttentionShape& shape, const AttentionPlan& plan, ConstMatrix q, ConstMatrix k,
                        ConstMatrix v, ConstMatrix out, const float* logsumexp, ConstMatrix dout, Matrix dq,
                        Matrix dk, Matrix dv);

}  // namespace nereus::kernels
