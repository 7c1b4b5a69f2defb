// Compiled once an instruction set, see CMakeLists.txt.
#include "nereus/kernels/attention_kernels.h"

#include "nereus/kernels/attention_tile.h"

namespace nereus::kernels::NEREUS_ISA {
namespace {

constexpr int kScoreVectors = static_cast<int>(kTileKeys) / kWidth;
constexpr float kNothing = -__builtin_inff();

/// Hands out consecutive parts of the scratch memory, each aligned as the whole.
class Scratch {
 public:
  explicit Scratch(float* memory) : next_(memory) {}
  float* take(int64_t floats) {
    float* part = next_;
    next_ += (floats + 15) / 16 * 16;
    return part;
  }

 private:
  float* next_;
};

int64_t scratch_floats(int64_t queries, int64_t head_dim) {
  const int64_t width = padded(head_dim);
  return queries * (3 * width + 2 * kTileKeys + 2) + 6 * kTileKeys * width + 256;
}

/// Lanes [0, count) of the score vectors stay, the others become -inf.
[[gnu::always_inline]] inline void load_scores(const float* row, int64_t count,
                                               Vec (&scores)[kScoreVectors]) {
#pragma GCC unroll 16
  for (int j = 0; j < kScoreVectors; ++j) {
    const int64_t left = count - j * kWidth;
    if (left >= kWidth) {
      scores[j] = load(row + j * kWidth);
    } else {
      scores[j] = left > 0 ? load_part(row + j * kWidth, left, kNothing) : splat(kNothing);
    }
  }
}

/// One query's running softmax (Milakov & Gimelshein 2018): turns scores into weights relative to the largest
/// score so far and returns the factor for what was summed before.
[[gnu::always_inline]] inline float online_softmax(float* row, int64_t count, float& top, float& sum) {
  Vec scores[kScoreVectors];
  load_scores(row, count, scores);
  Vec high = scores[0];
#pragma GCC unroll 16
  for (int j = 1; j < kScoreVectors; ++j) high = larger(high, scores[j]);
  const float peak = max_lanes(high);
  const float raised = peak > top ? peak : top;
  Vec total = splat(0);
#pragma GCC unroll 16
  for (int j = 0; j < kScoreVectors; ++j) {
    const Vec weight = exponential(scores[j] - raised);
    total += weight;
    store(row + j * kWidth, weight);
  }
  const float factor = raised == top ? 1.0F : __builtin_expf(top - raised);
  sum = sum * factor + sum_lanes(total);
  top = raised;
  return factor;
}

[[gnu::always_inline]] inline void scale_row(float* row, int64_t width, float factor) {
  for (int64_t d = 0; d < width; d += kWidth) store(row + d, load(row + d) * factor);
}

/// out = sums / weights' total, and the logsumexp.
void finish(const QueryTile& tile, const float* sums, const float* top, const float* sum) {
  const int64_t width = padded(tile.head_dim);
  for (int64_t i = 0; i < tile.rows; ++i) {
    for (int64_t head = 0; head < tile.group; ++head) {
      const int64_t query = i * tile.group + head;
      float* out = tile.out + i * tile.out_stride + head * tile.head_dim;
      const float inverse = 1.0F / sum[query];
      int64_t d = 0;
      for (; d + kWidth <= tile.head_dim; d += kWidth)
        store(out + d, load(sums + query * width + d) * inverse);
      if (d < tile.head_dim) store_part(out + d, load(sums + query * width + d) * inverse, tile.head_dim - d);
      if (tile.logsumexp != nullptr)
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

// Sums of neighbouring lanes within quarters of a register, as x86's horizontal additions pair them.
template <int... I>
[[gnu::always_inline]] inline Vec pair_sums(Vec a, Vec b, Lanes<I...>) {
  const Vec even = __builtin_shufflevector(a, b, (I / 4 * 4 + (I % 2) * 2 + (I % 4 / 2) * kWidth)...);
  const Vec odd = __builtin_shufflevector(a, b, (I / 4 * 4 + (I % 2) * 2 + 1 + (I % 4 / 2) * kWidth)...);
  return even + odd;
}
// Sums of neighbouring quarters: a's in the lower half of the result, b's in the upper.
template <int... I>
[[gnu::always_inline]] inline Vec quarter_sums(Vec a, Vec b, Lanes<I...>) {
  const Vec even = __builtin_shufflevector(a, b, (I / 4 * 8 + I % 4)...);
  const Vec odd = __builtin_shufflevector(a, b, (I / 4 * 8 + I % 4 + 4)...);
  return even + odd;
}

/// Lane i of the result is the sum over the lanes of partial[i].
[[gnu::always_inline]] inline Vec sums_of(const Vec (&partial)[kWidth]) {
  Vec quad[kWidth / 4];
#pragma GCC unroll 4
  for (int i = 0; i < kWidth / 4; ++i) {
    quad[i] = pair_sums(pair_sums(partial[4 * i], partial[4 * i + 1], AllLanes{}),
                        pair_sums(partial[4 * i + 2], partial[4 * i + 3], AllLanes{}), AllLanes{});
  }
  if constexpr (kWidth == 4) return quad[0];
  if constexpr (kWidth == 8) return quarter_sums(quad[0], quad[kWidth / 8], AllLanes{});
  if constexpr (kWidth == 16) {
    return quarter_sums(quarter_sums(quad[0], quad[1 % (kWidth / 4)], AllLanes{}),
                        quarter_sums(quad[2 % (kWidth / 4)], quad[3 % (kWidth / 4)], AllLanes{}), AllLanes{});
  }
}

/// scores[h, kTileKeys] = q[h] · keys for Heads query heads that share the keys. Rows beyond the last are
/// given as copies of it.
template <int Heads, class T>
void decode_scores(const float* q, const T* keys, int64_t stride, const int64_t* rows, int64_t count,
                   int64_t head_dim, float* scores) {
  const int64_t width = padded(head_dim);
  for (int64_t first = 0; first < count; first += kWidth) {
    Vec partial[Heads][kWidth];
#pragma GCC unroll 4
    for (int quad = 0; quad < kWidth; quad += 4) {
      Vec sum[Heads][4]{};
      for (int64_t d = 0; d < head_dim; d += kWidth) {
        Vec key[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) key[i] = load_within(keys + rows[first + quad + i] * stride, d, head_dim);
#pragma GCC unroll 4
        for (int h = 0; h < Heads; ++h) {
          const Vec query = load(q + h * width + d);
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) sum[h][i] += query * key[i];
        }
      }
#pragma GCC unroll 4
      for (int h = 0; h < Heads; ++h) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) partial[h][quad + i] = sum[h][i];
      }
    }
#pragma GCC unroll 4
    for (int h = 0; h < Heads; ++h) store(scores + h * kTileKeys + first, sums_of(partial[h]));
  }
}

/// sums[h] = factor[h] · sums[h] + weights[h] · values, Vectors vectors of columns at a time.
template <int Heads, int Vectors, class T>
void decode_columns(const float* weights, const float* factor, const T* values, int64_t stride,
                    const int64_t* rows, int64_t count, int64_t lanes, int64_t width, float* sums) {
  Vec sum[Heads][Vectors];
#pragma GCC unroll 4
  for (int h = 0; h < Heads; ++h) {
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) sum[h][j] = load(sums + h * width + j * kWidth) * factor[h];
  }
  for (int64_t i = 0; i < count; ++i) {
    Vec value[Vectors];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) value[j] = load_within(values + rows[i] * stride, j * kWidth, lanes);
#pragma GCC unroll 4
    for (int h = 0; h < Heads; ++h) {
      const Vec weight = splat(weights[h * kTileKeys + i]);
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) sum[h][j] += weight * value[j];
    }
  }
#pragma GCC unroll 4
  for (int h = 0; h < Heads; ++h) {
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) store(sums + h * width + j * kWidth, sum[h][j]);
  }
}

template <int Heads, class T>
void decode_values(const float* weights, const float* factor, const T* values, int64_t stride,
                   const int64_t* rows, int64_t count, int64_t head_dim, float* sums) {
  const int64_t width = padded(head_dim);
  int64_t d = 0;
  for (; d + kBlockVectors * kWidth <= head_dim; d += kBlockVectors * kWidth) {
    decode_columns<Heads, kBlockVectors>(weights, factor, values + d, stride, rows, count,
                                         kBlockVectors * kWidth, width, sums + d);
  }
  for (; d < head_dim; d += kWidth) {
    decode_columns<Heads, 1>(weights, factor, values + d, stride, rows, count, head_dim - d, width, sums + d);
  }
}

template <int Heads, class T>
void decode_heads(const QueryTile& tile, float* scratch) {
  const int64_t width = padded(tile.head_dim);
  Scratch parts(scratch);
  float* q = parts.take(Heads * width);
  float* sums = parts.take(Heads * width);
  float* scores = parts.take(Heads * kTileKeys);
  float top[Heads], sum[Heads], factor[Heads];
  copy_queries(tile, tile.q, tile.q_stride, tile.scale, q);
  for (int64_t i = 0; i < Heads * width; ++i) sums[i] = 0;
  for (int h = 0; h < Heads; ++h) top[h] = kNothing, sum[h] = 0;

  RowWalk walk(tile.spans);
  int64_t rows[kTileKeys];
  for (int64_t base = 0; base < tile.visible; base += kTileKeys) {
    const int64_t count = smaller(kTileKeys, tile.visible - base);
    walk.next(count, rows);
    for (int64_t i = count; i < kTileKeys; ++i) rows[i] = rows[count - 1];
    decode_scores<Heads>(q, static_cast<const T*>(tile.keys), tile.key_stride, rows, count, tile.head_dim,
                         scores);
    for (int h = 0; h < Heads; ++h) factor[h] = online_softmax(scores + h * kTileKeys, count, top[h], sum[h]);
    decode_values<Heads>(scores, factor, static_cast<const T*>(tile.values), tile.value_stride, rows, count,
                         tile.head_dim, sums);
  }
  finish(tile, sums, top, sum);
}

template <class T>
void decode_in(const QueryTile& tile, float* scratch) {
  QueryTile part = tile;
  for (int64_t head = 0; head < tile.group; head += part.group) {
    part.group = smaller(4, tile.group - head);
    part.q = tile.q + head * tile.head_dim;
    part.out = tile.out + head * tile.head_dim;
    if (tile.logsumexp != nullptr) part.logsumexp = tile.logsumexp + head;
    if (part.group == 4) decode_heads<4, T>(part, scratch);
    if (part.group == 3) decode_heads<3, T>(part, scratch);
    if (part.group == 2) decode_heads<2, T>(part, scratch);
    if (part.group == 1) decode_heads<1, T>(part, scratch);
  }
}

void decode(const QueryTile& tile, float* scratch) {
  if (tile.element == Element::bf16) return decode_in<uint16_t>(tile, scratch);
  decode_in<float>(tile, scratch);
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
  static constexpr AttentionKernels kernels{scratch_floats, forward, decode, backward};
  return kernels;
}

}  // namespace nereus::kernels::NEREUS_ISA
