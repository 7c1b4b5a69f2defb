// Compiled once an instruction set, see CMakeLists.txt.
#include "nereus/kernels/attention_kernels.h"

#include "nereus/kernels/attention_decode.h"
#include "nereus/kernels/attention_softmax.h"

namespace nereus::kernels::NEREUS_ISA {
namespace {

int64_t scratch_floats(int64_t queries, int64_t head_dim) {
  const int64_t width = padded(head_dim);
  return queries * (3 * width + 2 * kTileKeys + 2) + 6 * kTileKeys * width + 256;
}

[[gnu::always_inline]] inline void scale_row(float* row, int64_t width, float factor) {
  for (int64_t d = 0; d < width; d += kWidth) store(row + d, load(row + d) * factor);
}

void finish(const QueryTile& tile, const float* sums, const float* top, const float* sum) {
  const int64_t width = padded(tile.head_dim);
  for (int64_t i = 0; i < tile.rows; ++i) {
    for (int64_t head = 0; head < tile.group; ++head) {
      const int64_t query = i * tile.group + head;
      write_output(sums + query * width, sum[query], tile.head_dim,
                   tile.out + i * tile.out_stride + head * tile.head_dim);
      if (tile.logsumexp == nullptr) continue;
      tile.logsumexp[i * tile.heads + head] = top[query] + __builtin_logf(sum[query]);
    }
  }
}

template <class T>
void forward_in(const QueryTile& tile, float* scratch) {
  const int64_t group = tile.group, queries = tile.rows * group, width = padded(tile.head_dim);
  Scratch parts(scratch);
  float* q = parts.take(queries * width);
  float* sums = parts.take(queries * width);
  float* scores = parts.take(queries * kTileKeys);
  float* k = parts.take(width * kTileKeys);
  float* v = parts.take(width * kTileKeys);
  float* top = parts.take(queries);
  float* sum = parts.take(queries);
  copy_queries(tile, tile.q, tile.q_stride, tile.scale, q);
  for (int64_t i = 0; i < queries * width; ++i) sums[i] = 0;
  for (int64_t i = 0; i < queries; ++i) top[i] = kNothing, sum[i] = 0;

  RowWalk walk(tile.spans);
  int64_t rows[kTileKeys];
  const int64_t all = tile.visible + tile.rows - 1;
  for (int64_t base = 0; base < all; base += kTileKeys) {
    const int64_t count = smaller(kTileKeys, all - base);
    walk.next(count, rows);
    copy_transposed(static_cast<const T*>(tile.keys), tile.key_stride, rows, count, tile.head_dim, k);
    copy_rows(static_cast<const T*>(tile.values), tile.value_stride, rows, count, tile.head_dim, v);
    const int64_t first = first_seeing(tile, base) * group, seeing = queries - first;
    product(seeing, tile.head_dim, kTileKeys, {q + first * width, width, 1}, k, kTileKeys,
            scores + first * kTileKeys, kTileKeys, false);
    for (int64_t i = first; i < queries; ++i) {
      const float factor =
          online_softmax(scores + i * kTileKeys, keys_seen(tile, i / group, base), top[i], sum[i]);
      if (factor != 1.0F) scale_row(sums + i * width, width, factor);
    }
    product(seeing, count, width, {scores + first * kTileKeys, kTileKeys, 1}, v, width, sums + first * width,
            width, true);
  }
  finish(tile, sums, top, sum);
}

void forward(const QueryTile& tile, float* scratch) {
  if (tile.element == Element::bf16) return forward_in<uint16_t>(tile, scratch);
  forward_in<float>(tile, scratch);
}

/// delta[query] = dout · out (Dao et al. 2022).
void output_dots(const QueryTile& tile, const QueryTileGradient& gradient, float* delta) {
  for (int64_t i = 0; i < tile.rows; ++i) {
    for (int64_t head = 0; head < tile.group; ++head) {
      const float* out = tile.out + i * tile.out_stride + head * tile.head_dim;
      const float* dout = gradient.dout + i * gradient.dout_stride + head * tile.head_dim;
      Vec dots = splat(0);
      for (int64_t d = 0; d < tile.head_dim; d += kWidth) {
        dots += load_within(out, d, tile.head_dim) * load_within(dout, d, tile.head_dim);
      }
      delta[i * tile.group + head] = sum_lanes(dots);
    }
  }
}

/// scores become weights p = e^(score − logsumexp), dweights become dscores = p · (dweight − delta).
[[gnu::always_inline]] inline void softmax_gradient(float* scores, float* dweights, int64_t count,
                                                    float logsumexp, float delta) {
  Vec row[kScoreVectors];
  load_scores(scores, count, row);
#pragma GCC unroll 16
  for (int j = 0; j < kScoreVectors; ++j) {
    const Vec weight = exponential(row[j] - logsumexp);
    store(scores + j * kWidth, weight);
    store(dweights + j * kWidth, weight * (load(dweights + j * kWidth) - delta));
  }
}

/// gradients[rows] += tile[count, padded(head_dim)].
void add_rows(const float* tile, const int64_t* rows, int64_t count, int64_t head_dim, float* gradients,
              int64_t stride) {
  const int64_t width = padded(head_dim);
  for (int64_t i = 0; i < count; ++i) {
    float* to = gradients + rows[i] * stride;
    const float* from = tile + i * width;
    int64_t d = 0;
    for (; d + kWidth <= head_dim; d += kWidth) store(to + d, load(to + d) + load(from + d));
    if (d < head_dim) store_part(to + d, load_part(to + d, head_dim - d) + load(from + d), head_dim - d);
  }
}

void backward(const QueryTile& tile, const QueryTileGradient& gradient, float* scratch) {
  const int64_t group = tile.group, queries = tile.rows * group, width = padded(tile.head_dim);
  Scratch parts(scratch);
  float* q = parts.take(queries * width);
  float* dout = parts.take(queries * width);
  float* dq = parts.take(queries * width);
  float* scores = parts.take(queries * kTileKeys);
  float* dscores = parts.take(queries * kTileKeys);
  float* k = parts.take(kTileKeys * width);
  float* k_transposed = parts.take(width * kTileKeys);
  float* v_transposed = parts.take(width * kTileKeys);
  float* sums = parts.take(kTileKeys * width);
  float* delta = parts.take(queries);
  copy_queries(tile, tile.q, tile.q_stride, tile.scale, q);
  copy_queries(tile, gradient.dout, gradient.dout_stride, 1.0F, dout);
  for (int64_t i = 0; i < queries * width; ++i) dq[i] = 0;
  output_dots(tile, gradient, delta);

  const auto* keys = static_cast<const float*>(tile.keys);
  const auto* values = static_cast<const float*>(tile.values);
  RowWalk walk(tile.spans);
  int64_t rows[kTileKeys];
  const int64_t all = tile.visible + tile.rows - 1;
  for (int64_t base = 0; base < all; base += kTileKeys) {
    const int64_t count = smaller(kTileKeys, all - base);
    walk.next(count, rows);
    copy_rows(keys, tile.key_stride, rows, count, tile.head_dim, k);
    copy_transposed(keys, tile.key_stride, rows, count, tile.head_dim, k_transposed);
    copy_transposed(values, tile.value_stride, rows, count, tile.head_dim, v_transposed);
    const int64_t first = first_seeing(tile, base) * group, seeing = queries - first;
    float* p = scores + first * kTileKeys;
    float* ds = dscores + first * kTileKeys;
    product(seeing, tile.head_dim, kTileKeys, {q + first * width, width, 1}, k_transposed, kTileKeys, p,
            kTileKeys, false);
    product(seeing, tile.head_dim, kTileKeys, {dout + first * width, width, 1}, v_transposed, kTileKeys, ds,
            kTileKeys, false);
    for (int64_t i = first; i < queries; ++i) {
      const float logsumexp = tile.logsumexp[i / group * tile.heads + i % group];
      softmax_gradient(scores + i * kTileKeys, dscores + i * kTileKeys, keys_seen(tile, i / group, base),
                       logsumexp, delta[i]);
    }
    product(seeing, count, width, {ds, kTileKeys, 1}, k, width, dq + first * width, width, true);
    product(count, seeing, width, {ds, 1, kTileKeys}, q + first * width, width, sums, width, false);
    add_rows(sums, rows, count, tile.head_dim, gradient.dk, gradient.dk_stride);
    product(count, seeing, width, {p, 1, kTileKeys}, dout + first * width, width, sums, width, false);
    add_rows(sums, rows, count, tile.head_dim, gradient.dv, gradient.dv_stride);
  }
  for (int64_t i = 0; i < queries; ++i) {
    float* to = gradient.dq + i / group * gradient.dq_stride + i % group * tile.head_dim;
    for (int64_t d = 0; d < tile.head_dim; ++d) to[d] = tile.scale * dq[i * width + d];
  }
}

}  // namespace

const AttentionKernels& attention_kernels() {
  static constexpr AttentionKernels kernels{scratch_floats, forward, decode, decode_scratch_floats, backward};
  return kernels;
}

}  // namespace nereus::kernels::NEREUS_ISA
