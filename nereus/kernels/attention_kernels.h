#pragma once

#include <cstdint>

#include "nereus/kernels/attention.h"
#include "nereus/kernels/isa.h"

namespace nereus::kernels {

/// Keys of a tile: those whose scores are held at once.
inline constexpr int64_t kTileKeys = 64;

/// Consecutive queries of one run with the query heads that share one key and value head. Pointers are at
/// these heads' first columns; query i sees the first `visible` + i keys of the spans.
struct QueryTile {
  int64_t rows = 0, group = 0, head_dim = 0;
  float scale = 0;
  int64_t visible = 0;
  const KeySpan* spans = nullptr;
  int64_t heads = 0;     ///< row stride of logsumexp
  int64_t kv_heads = 1;  ///< more than one only in decode
  const float* q = nullptr;
  int64_t q_stride = 0;
  const void* keys = nullptr;
  const void* values = nullptr;
  int64_t key_stride = 0, value_stride = 0;
  Element element = Element::f32;
  float* out = nullptr;
  int64_t out_stride = 0;
  float* logsumexp = nullptr;  ///< may be null in forward
};

/// What backward needs besides; `out` and `logsumexp` of the tile are then inputs.
struct QueryTileGradient {
  const float* dout = nullptr;
  float* dq = nullptr;
  float* dk = nullptr;
  float* dv = nullptr;
  int64_t dout_stride = 0, dq_stride = 0, dk_stride = 0, dv_stride = 0;
};

/// Attention of one tile for one instruction set; serial and stateless. `scratch` is aligned to 64 bytes and
/// holds scratch_floats(rows · group of the tile, head_dim) floats.
struct AttentionKernels {
  int64_t (*scratch_floats)(int64_t queries, int64_t head_dim);
  void (*forward)(const QueryTile& tile, float* scratch);
  /// Forward for tiles of one row and all heads (`group` heads for each of `kv_heads`), where copying keys
  /// into another layout would not pay. Fetches the next keys from memory, also those of the next tile,
  /// meanwhile.
  void (*decode)(const QueryTile* tiles, int64_t count, float* scratch);
  int64_t (*decode_scratch_floats)(int64_t heads, int64_t head_dim);
  /// Overwrites dq, adds to dk and dv.
  void (*backward)(const QueryTile& tile, const QueryTileGradient& gradient, float* scratch);
};

/// REQUIRES: this build has kernels of `isa` (see supported_isas).
const AttentionKernels& attention_kernels(Isa isa);

/// attention_forward and attention_backward with given kernels.
void attention_forward(const AttentionKernels& kernels, const AttentionShape& shape,
                       const AttentionPlan& plan, ConstMatrix q, const KeyValueStore& store, Matrix out,
                       float* logsumexp);
void attention_backward(const AttentionKernels& kernels, const AttentionShape& shape,
                        const AttentionPlan& plan, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                        ConstMatrix out, const float* logsumexp, ConstMatrix dout, Matrix dq, Matrix dk,
                        Matrix dv);

namespace baseline {
const AttentionKernels& attention_kernels();
}
namespace avx2 {
const AttentionKernels& attention_kernels();
}
namespace avx512 {
const AttentionKernels& attention_kernels();
}

}  // namespace nereus::kernels
