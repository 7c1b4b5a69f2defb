#include <algorithm>
#include <numeric>

#include "nereus/kernels/attention_parts.h"
#include "nereus/kernels/parallel.h"
#include "nereus/kernels/row_kernels.h"

namespace nereus::kernels {
namespace {

/// Parts that one thread takes in order, for one key and value head at a time. The first share of a component
/// adds to dk and dv themselves, the others to rows of their own, which are added in order afterwards.
struct Share {
  int64_t component;
  int64_t work = 0;
  std::vector<const RunPart*> parts;
  std::vector<float> own;  ///< [2, rows of the component, kv_heads · head_dim]: dk, then dv
};

/// Runs connected by key rows that they share, and the range of rows that holds all of theirs.
struct Component {
  int64_t first_row, end_row;
  int64_t work = 0;
  std::vector<const RunPart*> parts;
};

/// The component of each run: rows are swept in order, and a run whose span begins before an earlier span has
/// ended joins that span's run.
std::vector<int64_t> components_of(const AttentionPlan& plan) {
  struct Owned {
    KeySpan span;
    int64_t run;
  };
  std::vector<Owned> spans;
  std::vector<int64_t> parent(plan.runs.size());
  std::iota(parent.begin(), parent.end(), 0);
  for (size_t run = 0; run < plan.runs.size(); ++run) {
    for (int64_t i = 0; i < plan.runs[run].span_count; ++i) {
      const KeySpan span = plan.spans[static_cast<size_t>(plan.runs[run].first_span + i)];
      if (span.length > 0) spans.push_back({span, static_cast<int64_t>(run)});
    }
  }
  const auto root = [&](int64_t run) {
    while (parent[static_cast<size_t>(run)] != run) run = parent[static_cast<size_t>(run)];
    return run;
  };
  const auto join = [&](int64_t a, int64_t b) {
    a = root(a), b = root(b);
    parent[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  };
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Owned& a, const Owned& b) { return a.span.start < b.span.start; });
  int64_t end = -1, last = -1;
  for (const Owned& owned : spans) {
    if (owned.span.start < end) join(owned.run, last);
    if (owned.span.start + owned.span.length > end) {
      end = owned.span.start + owned.span.length;
      last = owned.run;
    }
  }
  for (auto& run : parent) run = root(run);
  return parent;
}

std::vector<Component> components_of(const AttentionShape& shape, const AttentionPlan& plan,
                                     const std::vector<RunPart>& parts) {
  const auto owner = components_of(plan);
  std::vector<int64_t> index(plan.runs.size(), -1);
  std::vector<Component> components;
  for (const RunPart& part : parts) {
    auto& at = index[static_cast<size_t>(owner[static_cast<size_t>(part.run - plan.runs.data())])];
    if (at < 0) {
      at = static_cast<int64_t>(components.size());
      components.push_back({INT64_MAX, 0, 0, {}});
    }
    Component& component = components[static_cast<size_t>(at)];
    component.parts.push_back(&part);
    component.work += work_of(shape, part);
    for (int64_t i = 0; i < part.run->span_count; ++i) {
      const KeySpan span = plan.spans[static_cast<size_t>(part.run->first_span + i)];
      if (span.length == 0) continue;
      component.first_row = std::min(component.first_row, span.start);
      component.end_row = std::max(component.end_row, span.start + span.length);
    }
  }
  return components;
}

/// Cuts components that are large beside the whole, so that threads find work of similar size. It depends on
/// the batch alone, so that the order of all additions does.
std::vector<Share> shares_of(const AttentionShape& shape, const std::vector<Component>& components) {
  constexpr int64_t kTasks = 32;
  const int64_t wanted = std::max<int64_t>(1, kTasks / shape.kv_heads);
  int64_t total = 1;
  for (const Component& component : components) total += component.work;
  std::vector<Share> shares;
  for (size_t c = 0; c < components.size(); ++c) {
    const Component& component = components[c];
    const int64_t count = std::max<int64_t>(1, (component.work * wanted + total / 2) / total);
    int64_t done = 0, begun = 0;
    for (const RunPart* part : component.parts) {
      if (begun == 0 || (begun < count && done >= component.work * begun / count)) {
        shares.push_back({static_cast<int64_t>(c), 0, {}, {}});
        if (begun++ > 0) {
          const int64_t rows = component.end_row - component.first_row;
          shares.back().own.assign(static_cast<size_t>(2 * rows * shape.kv_heads * shape.head_dim), 0.0F);
        }
      }
      shares.back().parts.push_back(part);
      shares.back().work += work_of(shape, *part);
      done += work_of(shape, *part);
    }
  }
  return shares;
}

/// Adds the shares' own rows to dk and dv, in order.
void add_own_rows(const std::vector<Component>& components, const std::vector<Share>& shares, int64_t cols,
                  Matrix dk, Matrix dv) {
  const auto add = row_kernels(best_isa()).add_scaled;
  for (const Share& share : shares) {
    if (share.own.empty()) continue;
    const Component& component = components[static_cast<size_t>(share.component)];
    const int64_t rows = component.end_row - component.first_row;
    parallel_ranges(rows, 4 * cols, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t row = component.first_row + i;
        add(share.own.data() + i * cols, nullptr, 1.0F, cols, dk.data + row * dk.row_stride);
        add(share.own.data() + (rows + i) * cols, nullptr, 1.0F, cols, dv.data + row * dv.row_stride);
      }
    });
  }
}

/// Where a share adds the gradients of keys and values: row r at dk + r · dk_stride.
void aim(const Component& component, Share& share, int64_t cols, Matrix dk, Matrix dv,
         QueryTileGradient& gradient) {
  gradient.dk = dk.data;
  gradient.dv = dv.data;
  gradient.dk_stride = dk.row_stride;
  gradient.dv_stride = dv.row_stride;
  if (share.own.empty()) return;
  const int64_t rows = component.end_row - component.first_row;
  gradient.dk = share.own.data() - component.first_row * cols;
  gradient.dv = gradient.dk + rows * cols;
  gradient.dk_stride = gradient.dv_stride = cols;
}

}  // namespace

void attention_backward(const AttentionKernels& kernels, const AttentionShape& shape,
                        const AttentionPlan& plan, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                        ConstMatrix out, const float* logsumexp, ConstMatrix dout, Matrix dq, Matrix dk,
                        Matrix dv) {
  const auto parts = parts_of(shape, plan);
  const auto components = components_of(shape, plan, parts);
  auto shares = shares_of(shape, components);
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.work > b.work; });
  int64_t work = 0;
  for (const Share& share : shares) work += 3 * share.work * shape.kv_heads;
  ThreadScratch scratch = scratch_for(kernels, shape, parts);
  const int64_t cols = shape.kv_heads * shape.head_dim;
  // The tile's outputs are inputs here: backward reads them only.
  const Matrix outputs{const_cast<float*>(out.data), out.rows, out.cols, out.row_stride, out.col_stride};
  auto* sums = const_cast<float*>(logsumexp);
  const auto tasks = static_cast<int64_t>(shares.size()) * shape.kv_heads;
  parallel_tasks(tasks, work / kProductsPerElement, [&](int64_t task, int thread) {
    Share& share = shares[static_cast<size_t>(task / shape.kv_heads)];
    const int64_t kv_head = task % shape.kv_heads, key_column = kv_head * shape.head_dim;
    const int64_t column = key_column * (shape.heads / shape.kv_heads);
    QueryTileGradient gradient;
    aim(components[static_cast<size_t>(share.component)], share, cols, dk, dv, gradient);
    gradient.dk += key_column;
    gradient.dv += key_column;
    for (const RunPart* part : share.parts) {
      const int64_t row = part->run->first_row + part->first;
      QueryTile tile = tile_of(shape, plan, *part, kv_head, q, outputs, sums);
      tile.keys = k.data + key_column;
      tile.values = v.data + key_column;
      tile.key_stride = k.row_stride;
      tile.value_stride = v.row_stride;
      gradient.dout = dout.data + row * dout.row_stride + column;
      gradient.dout_stride = dout.row_stride;
      gradient.dq = dq.data + row * dq.row_stride + column;
      gradient.dq_stride = dq.row_stride;
      kernels.backward(tile, gradient, scratch.of(thread));
    }
  });
  add_own_rows(components, shares, cols, dk, dv);
}

}  // namespace nereus::kernels
