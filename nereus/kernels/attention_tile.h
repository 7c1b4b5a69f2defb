#pragma once

#include "nereus/kernels/attention_kernels.h"
#include "nereus/kernels/product.h"

// What the attention kernels share: walking over the spans' rows and copying a tile of them. Included only by
// files compiled once an instruction set.
namespace nereus::kernels::NEREUS_ISA {

inline int64_t padded(int64_t head_dim) {
  return (head_dim + kWidth - 1) / kWidth * kWidth;
}
inline int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/// Walks over the rows of spans in order.
class RowWalk {
 public:
  explicit RowWalk(const KeySpan* spans) : span_(spans) {}

  /// Writes the next `count` rows' indices. REQUIRES: the spans have as many left.
  void next(int64_t count, int64_t* rows) {
    for (int64_t i = 0; i < count;) {
      while (used_ == span_->length) {
        ++span_;
        used_ = 0;
      }
      const int64_t here = smaller(count - i, span_->length - used_);
      for (int64_t j = 0; j < here; ++j) rows[i + j] = span_->start + used_ + j;
      i += here;
      used_ += here;
    }
  }

 private:
  const KeySpan* span_;
  int64_t used_ = 0;
};

/// First `width` elements of a row, as vectors, zero beyond.
template <class T>
[[gnu::always_inline]] inline Vec load_within(const T* row, int64_t column, int64_t width) {
  return column + kWidth <= width ? load(row + column) : load_part(row + column, width - column);
}

/// tile[kTileKeys, padded(head_dim)] = the given rows, zero beyond `count`.
template <class T>
void copy_rows(const T* from, int64_t stride, const int64_t* rows, int64_t count, int64_t head_dim,
               float* tile) {
  const int64_t width = padded(head_dim);
  for (int64_t i = 0; i < kTileKeys; ++i) {
    for (int64_t d = 0; d < width; d += kWidth) {
      store(tile + i * width + d, i < count ? load_within(from + rows[i] * stride, d, head_dim) : splat(0));
    }
  }
}

template <int Step, int... I>
[[gnu::always_inline]] inline void exchange(Vec& a, Vec& b, Lanes<I...>) {
  const Vec low = __builtin_shufflevector(a, b, ((I & Step) == 0 ? I : kWidth + I - Step)...);
  const Vec high = __builtin_shufflevector(a, b, ((I & Step) == 0 ? I + Step : kWidth + I)...);
  a = low;
  b = high;
}

template <int Step>
[[gnu::always_inline]] inline void exchange_all(Vec* block) {
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) {
    if ((i & Step) == 0) exchange<Step>(block[i], block[i + Step], AllLanes{});
  }
}

/// Transposes a block of kWidth × kWidth, halves of halves at a time.
[[gnu::always_inline]] inline void transpose_block(Vec (&block)[kWidth]) {
  if constexpr (kWidth > 8) exchange_all<8 % kWidth>(block);
  if constexpr (kWidth > 4) exchange_all<4 % kWidth>(block);
  exchange_all<2>(block);
  exchange_all<1>(block);
}

/// tile[padded(head_dim), kTileKeys] = the given rows transposed, zero beyond `count`.
template <class T>
void copy_transposed(const T* from, int64_t stride, const int64_t* rows, int64_t count, int64_t head_dim,
                     float* tile) {
  for (int64_t first = 0; first < kTileKeys; first += kWidth) {
    for (int64_t d = 0; d < head_dim; d += kWidth) {
      Vec block[kWidth];
#pragma GCC unroll 16
      for (int i = 0; i < kWidth; ++i) {
        block[i] = first + i < count ? load_within(from + rows[first + i] * stride, d, head_dim) : splat(0);
      }
      transpose_block(block);
#pragma GCC unroll 16
      for (int i = 0; i < kWidth; ++i) store(tile + (d + i) * kTileKeys + first, block[i]);
    }
  }
}

/// copy[rows · group, padded(head_dim)] = factor · the tile's rows, zero beyond head_dim.
inline void copy_queries(const QueryTile& tile, const float* from, int64_t stride, float factor,
                         float* copy) {
  const int64_t width = padded(tile.head_dim);
  for (int64_t i = 0; i < tile.rows; ++i) {
    for (int64_t head = 0; head < tile.group; ++head, copy += width) {
      const float* row = from + i * stride + head * tile.head_dim;
      for (int64_t d = 0; d < width; d += kWidth)
        store(copy + d, load_within(row, d, tile.head_dim) * factor);
    }
  }
}

/// Keys of the tile that starts at key `base` which query row `row` sees: none at or below 0.
inline int64_t keys_seen(const QueryTile& tile, int64_t row, int64_t base) {
  return smaller(kTileKeys, tile.visible + row - base);
}

/// The first row of the tile that sees key `base`.
inline int64_t first_seeing(const QueryTile& tile, int64_t base) {
  return base < tile.visible ? 0 : base - tile.visible + 1;
}

}  // namespace nereus::kernels::NEREUS_ISA
