#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "nereus/generation/scheduler.h"
#include "nereus/model/attention.h"
#include "nereus/ops/attention.h"

namespace nereus::generation {

/// Memory of keys and values: one [blocks · block_tokens, kv_width] tensor each a layer. The system hands out
/// pages when they are first written, so a large pool costs only what is used.
class KvCache {
 public:
  /// `kv_width`: elements of a token's keys (and of its values) in a layer.
  KvCache(int64_t layers, int64_t kv_width, int64_t blocks, int64_t block_tokens, at::ScalarType type);

  /// Copies the first `rows` rows of a block to another.
  void copy(int64_t from_block, int64_t to_block, int64_t rows) const;

  int64_t block_tokens() const { return block_tokens_; }
  const at::Tensor& keys(int64_t layer) const { return keys_[static_cast<size_t>(layer)]; }
  const at::Tensor& values(int64_t layer) const { return values_[static_cast<size_t>(layer)]; }

 private:
  int64_t block_tokens_;
  std::vector<at::Tensor> keys_, values_;
};

/// The rows of one step and what each sees of the cache.
class PagedAttention : public model::Attention {
 public:
  PagedAttention(const KvCache& cache, const ops::AttentionShape& shape, at::Tensor frequencies,
                 const std::vector<Run>& runs);
  at::Tensor attend(int64_t layer, at::Tensor qkv) override;

  const at::Tensor& ids() const { return ids_; }  ///< [rows] int32
  /// Row of each run's last token.
  const std::vector<int64_t>& last_rows() const { return last_rows_; }

 private:
  void add_spans(const std::vector<int64_t>& blocks, int64_t skip, int64_t tokens);

  const KvCache& cache_;
  ops::AttentionShape shape_;
  at::Tensor frequencies_, ids_, positions_, slots_;
  ops::AttentionPlan plan_;
  std::vector<int64_t> last_rows_;
};

}  // namespace nereus::generation
