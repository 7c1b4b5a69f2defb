// Compiled once an instruction set, see CMakeLists.txt.
#include "nereus/kernels/attention_decode.h"
#include "nereus/kernels/attention_softmax.h"

namespace nereus::kernels::NEREUS_ISA {
namespace {

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

/// Rows of keys and values that come next, to be fetched from memory meanwhile.
struct Ahead {
  const char* rows = nullptr;  ///< the store's row 0, at this head's columns
  int64_t stride = 0, bytes = 0;
  const int64_t* index = nullptr;
  int64_t count = 0;

  [[gnu::always_inline]] inline void fetch(int64_t i) const {
    if (i >= count) return;
    for (int64_t line = 0; line < bytes; line += 64)
      __builtin_prefetch(rows + index[i] * stride + line, 0, 2);
  }
};

/// scores[h, kTileKeys] = q[h] · keys for Heads query heads that share the keys. Rows beyond the last are
/// given as copies of it.
template <int Heads, class T>
void decode_scores(const float* q, const T* keys, int64_t stride, const int64_t* rows, int64_t count,
                   int64_t head_dim, const Ahead& ahead, float* scores) {
  const int64_t width = padded(head_dim);
  for (int64_t first = 0; first < count; first += kWidth) {
    Vec partial[Heads][kWidth];
#pragma GCC unroll 4
    for (int quad = 0; quad < kWidth; quad += 4) {
      Vec sum[Heads][4]{};
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) ahead.fetch(first + quad + i);
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
                    const int64_t* rows, int64_t count, int64_t lanes, int64_t width, const Ahead& ahead,
                    float* sums) {
  Vec sum[Heads][Vectors];
#pragma GCC unroll 4
  for (int h = 0; h < Heads; ++h) {
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) sum[h][j] = load(sums + h * width + j * kWidth) * factor[h];
  }
  for (int64_t i = 0; i < count; ++i) {
    ahead.fetch(i);
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
                   const int64_t* rows, int64_t count, int64_t head_dim, Ahead ahead, float* sums) {
  const int64_t width = padded(head_dim);
  int64_t d = 0;
  for (; d + kBlockVectors * kWidth <= head_dim; d += kBlockVectors * kWidth) {
    decode_columns<Heads, kBlockVectors>(weights, factor, values + d, stride, rows, count,
                                         kBlockVectors * kWidth, width, ahead, sums + d);
    ahead.count = 0;  // once is enough
  }
  for (; d < head_dim; d += kWidth) {
    decode_columns<Heads, 1>(weights, factor, values + d, stride, rows, count, head_dim - d, width, ahead,
                             sums + d);
    ahead.count = 0;
  }
}

/// A tile of keys: their rows in the store, padded by copies of the last.
struct KeyTile {
  int64_t rows[kTileKeys];
  int64_t count = 0;

  void read(RowWalk& walk, int64_t left) {
    count = smaller(kTileKeys, left);
    walk.next(count, rows);
    for (int64_t i = count; i < kTileKeys; ++i) rows[i] = rows[count - 1];
  }
};

/// Running softmax of one query's heads.
struct Running {
  float *q, *sums, *scores, *top, *sum;
};

template <int Heads, class T>
void decode_heads(const QueryTile& tile, int64_t kv_head, int64_t head, const KeyTile& now, const Ahead& keys,
                  const Ahead& values, const Running& running) {
  const int64_t width = padded(tile.head_dim), column = kv_head * tile.head_dim;
  float factor[Heads];
  decode_scores<Heads>(running.q + head * width, static_cast<const T*>(tile.keys) + column, tile.key_stride,
                       now.rows, now.count, tile.head_dim, keys, running.scores);
  for (int h = 0; h < Heads; ++h) {
    factor[h] = online_softmax(running.scores + h * kTileKeys, now.count, running.top[head + h],
                               running.sum[head + h]);
  }
  decode_values<Heads>(running.scores, factor, static_cast<const T*>(tile.values) + column, tile.value_stride,
                       now.rows, now.count, tile.head_dim, values, running.sums + head * width);
}

/// All heads with one tile of keys, while the next tile is fetched.
template <class T>
void decode_tile(const QueryTile& tile, const KeyTile& now, const KeyTile& next, const Running& running) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t bytes = tile.head_dim * kSize;
  for (int64_t kv_head = 0; kv_head < tile.kv_heads; ++kv_head) {
    Ahead keys{static_cast<const char*>(tile.keys) + kv_head * bytes, tile.key_stride * kSize, bytes,
               next.rows, next.count};
    Ahead values = keys;
    values.rows = static_cast<const char*>(tile.values) + kv_head * bytes;
    values.stride = tile.value_stride * kSize;
    for (int64_t done = 0; done < tile.group; done += 4) {
      const int64_t head = kv_head * tile.group + done;
      switch (tile.group - done) {
        case 1:
          decode_heads<1, T>(tile, kv_head, head, now, keys, values, running);
          break;
        case 2:
          decode_heads<2, T>(tile, kv_head, head, now, keys, values, running);
          break;
        case 3:
          decode_heads<3, T>(tile, kv_head, head, now, keys, values, running);
          break;
        default:
          decode_heads<4, T>(tile, kv_head, head, now, keys, values, running);
          break;
      }
      keys.count = values.count = 0;  // once is enough
    }
  }
}

void finish(const QueryTile& tile, const Running& running) {
  const int64_t width = padded(tile.head_dim);
  for (int64_t head = 0; head < tile.kv_heads * tile.group; ++head) {
    write_output(running.sums + head * width, running.sum[head], tile.head_dim,
                 tile.out + head * tile.head_dim);
    if (tile.logsumexp != nullptr)
      tile.logsumexp[head] = running.top[head] + __builtin_logf(running.sum[head]);
  }
}

template <class T>
void decode_in(const QueryTile* tiles, int64_t count, float* scratch) {
  const int64_t heads = tiles->kv_heads * tiles->group, width = padded(tiles->head_dim);
  Scratch parts(scratch);
  const Running running{parts.take(heads * width), parts.take(heads * width), parts.take(4 * kTileKeys),
                        parts.take(heads), parts.take(heads)};
  KeyTile now, next;
  RowWalk walk(tiles->spans);
  now.read(walk, tiles->visible);
  for (int64_t t = 0; t < count; ++t) {
    QueryTile all = tiles[t];
    all.group = heads;
    copy_queries(all, all.q, all.q_stride, all.scale, running.q);
    for (int64_t i = 0; i < heads * width; ++i) running.sums[i] = 0;
    for (int64_t h = 0; h < heads; ++h) running.top[h] = kNothing, running.sum[h] = 0;
    for (int64_t base = 0; base < all.visible; base += kTileKeys) {
      next.count = 0;
      if (base + kTileKeys < all.visible) {
        next.read(walk, all.visible - base - kTileKeys);
      } else if (t + 1 < count) {
        walk = RowWalk(tiles[t + 1].spans);
        next.read(walk, tiles[t + 1].visible);
      }
      decode_tile<T>(tiles[t], now, next, running);
      now = next;
    }
    finish(tiles[t], running);
  }
}

}  // namespace

int64_t decode_scratch_floats(int64_t heads, int64_t head_dim) {
  return heads * (2 * padded(head_dim) + 2) + 4 * kTileKeys + 128;
}

void decode(const QueryTile* tiles, int64_t count, float* scratch) {
  if (count == 0) return;
  if (tiles->element == Element::bf16) return decode_in<uint16_t>(tiles, count, scratch);
  decode_in<float>(tiles, count, scratch);
}

}  // namespace nereus::kernels::NEREUS_ISA
