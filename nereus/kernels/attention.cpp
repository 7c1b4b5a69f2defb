#include "nereus/kernels/attention.h"

#include <algorithm>

#include "nereus/kernels/attention_parts.h"
#include "nereus/kernels/parallel.h"

namespace nereus::kernels {
namespace {

int64_t keys_of(const AttentionPlan& plan, const QueryRun& run) {
  int64_t keys = 0;
  for (const KeySpan& span :
       plan.spans.subspan(static_cast<size_t>(run.first_span), static_cast<size_t>(run.span_count))) {
    keys += span.length;
  }
  return keys;
}

/// Rows of a tile: enough that copying keys costs little beside the products.
int64_t rows_per_tile(const AttentionShape& shape) {
  constexpr int64_t kQueries = 96;
  return std::max<int64_t>(1, kQueries / (shape.heads / shape.kv_heads));
}

}  // namespace

const AttentionKernels& attention_kernels(Isa isa) {
#ifdef __x86_64__
  if (isa == Isa::avx512) return avx512::attention_kernels();
  if (isa == Isa::avx2) return avx2::attention_kernels();
#endif
  return baseline::attention_kernels();
}

std::vector<RunPart> parts_of(const AttentionShape& shape, const AttentionPlan& plan) {
  const int64_t most = rows_per_tile(shape);
  std::vector<RunPart> parts;
  parts.reserve(plan.runs.size());
  for (const QueryRun& run : plan.runs) {
    const int64_t keys = run.rows > 0 ? keys_of(plan, run) : 0;
    for (int64_t first = 0; first < run.rows; first += most) {
      parts.push_back({&run, first, std::min(most, run.rows - first), keys - run.rows + 1 + first});
    }
  }
  return parts;
}

int64_t work_of(const AttentionShape& shape, const RunPart& part) {
  return part.rows * (part.visible + part.rows / 2) * (shape.heads / shape.kv_heads) * shape.head_dim * 2;
}

QueryTile tile_of(const AttentionShape& shape, const AttentionPlan& plan, const RunPart& part,
                  int64_t kv_head, ConstMatrix q, Matrix out, float* logsumexp) {
  const int64_t group = shape.heads / shape.kv_heads;
  const int64_t row = part.run->first_row + part.first, column = kv_head * group * shape.head_dim;
  QueryTile tile;
  tile.rows = part.rows;
  tile.group = group;
  tile.head_dim = shape.head_dim;
  tile.scale = shape.scale;
  tile.visible = part.visible;
  tile.spans = plan.spans.data() + part.run->first_span;
  tile.heads = shape.heads;
  tile.q = q.data + row * q.row_stride + column;
  tile.q_stride = q.row_stride;
  tile.out = out.data + row * out.row_stride + column;
  tile.out_stride = out.row_stride;
  if (logsumexp != nullptr) tile.logsumexp = logsumexp + row * shape.heads + kv_head * group;
  return tile;
}

ThreadScratch scratch_for(const AttentionKernels& kernels, const AttentionShape& shape,
                          const std::vector<RunPart>& parts) {
  int64_t rows = 1;
  for (const RunPart& part : parts) rows = std::max(rows, part.rows);
  const int64_t queries = rows * (shape.heads / shape.kv_heads);
  return {kernels.scratch_floats(queries, shape.head_dim), max_threads()};
}

namespace {

/// The store's keys and values from one key and value head on.
void aim(QueryTile& tile, const AttentionShape& shape, const KeyValueStore& store, int64_t kv_head) {
  const int64_t bytes = kv_head * shape.head_dim * (store.element == Element::bf16 ? 2 : 4);
  tile.keys = static_cast<const char*>(store.keys) + bytes;
  tile.values = static_cast<const char*>(store.values) + bytes;
  tile.key_stride = tile.value_stride = store.row_stride;
  tile.element = store.element;
}

/// The parts of one row, with all heads; where they are fewer than threads, each key and value head apart.
std::vector<QueryTile> single_queries(const AttentionShape& shape, const AttentionPlan& plan,
                                      const std::vector<RunPart>& parts, ConstMatrix q,
                                      const KeyValueStore& store, Matrix out, float* logsumexp) {
  const auto count =
      std::count_if(parts.begin(), parts.end(), [](const RunPart& part) { return part.rows == 1; });
  const int64_t together = count < max_threads() ? 1 : shape.kv_heads;
  std::vector<QueryTile> tiles;
  tiles.reserve(static_cast<size_t>(count * (shape.kv_heads / together)));
  for (const RunPart& part : parts) {
    if (part.rows > 1) continue;
    for (int64_t kv_head = 0; kv_head < shape.kv_heads; kv_head += together) {
      tiles.push_back(tile_of(shape, plan, part, kv_head, q, out, logsumexp));
      tiles.back().kv_heads = together;
      aim(tiles.back(), shape, store, kv_head);
    }
  }
  return tiles;
}

/// Single queries, in consecutive ranges of about as many keys for each thread.
void decode_all(const AttentionKernels& kernels, const AttentionShape& shape,
                std::span<const QueryTile> tiles) {
  std::vector<int64_t> ends;  // keys up to and with each tile
  for (const QueryTile& tile : tiles) ends.push_back((ends.empty() ? 0 : ends.back()) + tile.visible);
  const int64_t keys = ends.empty() ? 0 : ends.back();
  const int64_t floats = kernels.decode_scratch_floats(shape.heads, shape.head_dim);
  parallel_ranges(keys, tiles.empty() ? 0 : tiles[0].kv_heads * shape.head_dim / 2,
                  [&](int64_t first, int64_t last) {
                    // A tile belongs to the range that holds its last key.
                    const auto begin = std::lower_bound(ends.begin(), ends.end(), first + 1) - ends.begin();
                    const auto end = std::lower_bound(ends.begin(), ends.end(), last + 1) - ends.begin();
                    ThreadScratch scratch(floats, 1);
                    kernels.decode(tiles.data() + begin, end - begin, scratch.of(0));
                  });
}

}  // namespace

void attention_forward(const AttentionKernels& kernels, const AttentionShape& shape,
                       const AttentionPlan& plan, ConstMatrix q, const KeyValueStore& store, Matrix out,
                       float* logsumexp) {
  std::vector<RunPart> parts = parts_of(shape, plan);
  const std::vector<QueryTile> single = single_queries(shape, plan, parts, q, store, out, logsumexp);
  decode_all(kernels, shape, single);

  std::erase_if(parts, [](const RunPart& part) { return part.rows == 1; });
  int64_t work = 0;
  for (const RunPart& part : parts) work += work_of(shape, part) * shape.kv_heads;
  ThreadScratch scratch = scratch_for(kernels, shape, parts);
  const auto tasks = static_cast<int64_t>(parts.size()) * shape.kv_heads;
  parallel_tasks(tasks, work / kProductsPerElement, [&](int64_t task, int thread) {
    const RunPart& part = parts[static_cast<size_t>(task / shape.kv_heads)];
    const int64_t kv_head = task % shape.kv_heads;
    QueryTile tile = tile_of(shape, plan, part, kv_head, q, out, logsumexp);
    aim(tile, shape, store, kv_head);
    kernels.forward(tile, scratch.of(thread));
  });
}

void attention_forward(const AttentionShape& shape, const AttentionPlan& plan, ConstMatrix q,
                       const KeyValueStore& store, Matrix out, float* logsumexp) {
  attention_forward(attention_kernels(best_isa()), shape, plan, q, store, out, logsumexp);
}

void attention_backward(const AttentionShape& shape, const AttentionPlan& plan, ConstMatrix q, ConstMatrix k,
                        ConstMatrix v, ConstMatrix out, const float* logsumexp, ConstMatrix dout, Matrix dq,
                        Matrix dk, Matrix dv) {
  attention_backward(attention_kernels(best_isa()), shape, plan, q, k, v, out, logsumexp, dout, dq, dk, dv);
}

}  // namespace nereus::kernels
