#include "nereus/generation/kv_cache.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace nereus::generation {
namespace {

template <class T>
at::Tensor to_tensor(std::vector<T>& values, at::ScalarType type) {
  return at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, type).clone();
}

}  // namespace

KvCache::KvCache(int64_t layers, int64_t kv_width, int64_t blocks, int64_t block_tokens, at::ScalarType type)
    : block_tokens_(block_tokens) {
  for (int64_t layer = 0; layer < layers; ++layer)
    for (auto* store : {&keys_, &values_})
      store->push_back(at::empty({blocks * block_tokens, kv_width}, type));
}

void KvCache::copy(int64_t from_block, int64_t to_block, int64_t rows) const {
  for (const auto* store : {&keys_, &values_})
    for (const at::Tensor& tensor : *store) {
      const auto row = static_cast<size_t>(tensor.size(1)) * tensor.element_size();
      auto* data = static_cast<std::byte*>(tensor.data_ptr());
      const auto start = [&](int64_t block) {
        return data + static_cast<size_t>(block * block_tokens_) * row;
      };
      std::memcpy(start(to_block), start(from_block), static_cast<size_t>(rows) * row);
    }
}

PagedAttention::PagedAttention(const KvCache& cache, const ops::AttentionShape& shape, at::Tensor frequencies,
                               const std::vector<Run>& runs)
    : cache_(cache), shape_(shape), frequencies_(std::move(frequencies)) {
  std::vector<int32_t> ids, positions;
  std::vector<int64_t> slots;
  const int64_t size = cache.block_tokens();
  for (const Run& run : runs) {
    const auto first_span = static_cast<int64_t>(plan_.spans.size()),
               first_row = static_cast<int64_t>(ids.size());
    const auto& tokens = run.sequence ? run.sequence->completion.tokens : run.group->request.prompt;
    const auto& blocks = run.sequence ? run.sequence->blocks : run.group->prompt_blocks;
    const int64_t offset = run.sequence ? run.group->prompt_tokens() : 0;
    const int64_t lead = run.sequence ? run.sequence->lead : 0;
    for (int64_t i = run.first; i < run.first + run.rows; ++i) {
      ids.push_back(tokens[static_cast<size_t>(i)]);
      positions.push_back(static_cast<int32_t>(offset + i));
      slots.push_back(blocks[static_cast<size_t>((lead + i) / size)] * size + (lead + i) % size);
    }
    if (run.sequence) add_spans(run.group->prompt_blocks, 0, run.group->prompt_tokens());
    add_spans(blocks, lead, run.first + run.rows);
    plan_.runs.push_back(
        {first_row, run.rows, first_span, static_cast<int64_t>(plan_.spans.size()) - first_span});
    last_rows_.push_back(first_row + run.rows - 1);
  }
  ids_ = to_tensor(ids, at::kInt);
  positions_ = to_tensor(positions, at::kInt);
  slots_ = to_tensor(slots, at::kLong);
}

/// Spans of `tokens` rows in `blocks` after the first `skip`; neighbouring blocks make one span.
void PagedAttention::add_spans(const std::vector<int64_t>& blocks, int64_t skip, int64_t tokens) {
  const int64_t size = cache_.block_tokens();
  bool joined = false;
  for (size_t i = 0; tokens > 0; ++i) {
    const int64_t start = blocks[i] * size + skip, length = std::min(size - skip, tokens);
    tokens -= length;
    skip = 0;
    if (joined && plan_.spans.back().start + plan_.spans.back().length == start)
      plan_.spans.back().length += length;
    else
      plan_.spans.push_back({start, length});
    joined = true;
  }
}

at::Tensor PagedAttention::attend(int64_t layer, at::Tensor qkv) {
  return ops::paged_attention(std::move(qkv), positions_, frequencies_, shape_, plan_, slots_,
                              cache_.keys(layer), cache_.values(layer));
}

}  // namespace nereus::generation
