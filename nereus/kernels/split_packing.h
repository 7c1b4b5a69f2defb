#pragma once

// Packing of split fp32 values into bf16 tiles. Included by files compiled for AVX-512 with AMX alone.

#include <immintrin.h>

#include "nereus/kernels/split_kernels.h"

namespace nereus::kernels::amx {
namespace {

constexpr int64_t kTile = 16;  ///< rows of a tile, and 32-bit words of a row
constexpr int64_t kTileElements = 2 * kTile * kTile;
constexpr int64_t kRowBytes = 64;

template <int Parts>
constexpr int64_t step_elements = kSplitLines* kSplitDepth* Parts;

// Vector types rather than intrinsics where these would have GCC warn of its own uninitialised operands.
using Floats = float [[gnu::vector_size(64)]];
using Ints = uint32_t [[gnu::vector_size(64)]];

/// The first `count` lanes, none to all.
__mmask16 lanes(int64_t count) {
  if (count >= kTile) return 0xffff;
  return count <= 0 ? __mmask16{0} : static_cast<__mmask16>((1U << count) - 1);
}

Floats load(const float* from, __mmask16 present) {
  return _mm512_maskz_loadu_ps(present, from);
}

Ints bits(Floats x) {
  return __builtin_bit_cast(Ints, x);
}

/// The nearest value of 8 significant bits; halves away from zero. The sum carries into the exponent.
Floats rounded(Floats x) {
  return __builtin_bit_cast(Floats, (bits(x) + 0x8000U) & 0xffff0000U);
}

/// bf16 values, kept as fp32, into the halves of 32-bit words.
Ints paired(Floats low, Floats high) {
  return bits(low) >> 16 | bits(high);
}

/// Rows of 16 words, for each part.
template <int Parts>
struct Words {
  Ints part[Parts][kTile];
};

/// Splits the values of two vectors a row; NaN in `check` shows values that have no parts.
template <int Parts>
[[gnu::always_inline]] inline void split(Floats low, Floats high, int64_t row, Words<Parts>& words,
                                         Floats& check) {
  const Floats low1 = rounded(low), high1 = rounded(high);
  const Floats low_rest = low - low1, high_rest = high - high1;
  const Floats low2 = rounded(low_rest), high2 = rounded(high_rest);
  const Floats low3 = low_rest - low2, high3 = high_rest - high2;
  words.part[0][row] = paired(low1, high1);
  words.part[1][row] = paired(low2, high2);
  if constexpr (Parts == 3) words.part[2][row] = paired(low3, high3);
  check += low3 + high3;
}

/// Alternates groups of `Size` lanes of a and b, the lower ones of each 128 bits (or with `Upper` the upper).
template <int Size, bool Upper>
[[gnu::always_inline]] inline Ints interleaved(Ints a, Ints b) {
  constexpr int u = Upper ? 2 : 0;
  if constexpr (Size == 1) {
    return __builtin_shufflevector(a, b, u, 16 + u, 1 + u, 17 + u, 4 + u, 20 + u, 5 + u, 21 + u, 8 + u,
                                   24 + u, 9 + u, 25 + u, 12 + u, 28 + u, 13 + u, 29 + u);
  } else {
    return __builtin_shufflevector(a, b, u, 1 + u, 16 + u, 17 + u, 4 + u, 5 + u, 20 + u, 21 + u, 8 + u, 9 + u,
                                   24 + u, 25 + u, 12 + u, 13 + u, 28 + u, 29 + u);
  }
}

/// The even (or odd) 128-bit lanes of a, then those of b.
template <bool Odd>
[[gnu::always_inline]] inline Ints every_second(Ints a, Ints b) {
  constexpr int o = Odd ? 4 : 0;
  return __builtin_shufflevector(a, b, o, o + 1, o + 2, o + 3, o + 8, o + 9, o + 10, o + 11, o + 16, o + 17,
                                 o + 18, o + 19, o + 24, o + 25, o + 26, o + 27);
}

[[gnu::always_inline]] inline void transpose(Ints (&rows)[kTile]) {
  Ints pairs[kTile], quads[kTile];
#pragma GCC unroll 8
  for (int i = 0; i < kTile; i += 2) {
    pairs[i] = interleaved<1, false>(rows[i], rows[i + 1]);
    pairs[i + 1] = interleaved<1, true>(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kTile; i += 4) {
    quads[i] = interleaved<2, false>(pairs[i], pairs[i + 2]);
    quads[i + 1] = interleaved<2, true>(pairs[i], pairs[i + 2]);
    quads[i + 2] = interleaved<2, false>(pairs[i + 1], pairs[i + 3]);
    quads[i + 3] = interleaved<2, true>(pairs[i + 1], pairs[i + 3]);
  }
  // The 128-bit lane l of quads[4 g + r] holds rows 4 g to 4 g + 3 of column 4 l + r.
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const Ints even_upper = every_second<false>(quads[r], quads[4 + r]);
    const Ints odd_upper = every_second<true>(quads[r], quads[4 + r]);
    const Ints even_lower = every_second<false>(quads[8 + r], quads[12 + r]);
    const Ints odd_lower = every_second<true>(quads[8 + r], quads[12 + r]);
    rows[r] = every_second<false>(even_upper, even_lower);
    rows[4 + r] = every_second<false>(odd_upper, odd_lower);
    rows[8 + r] = every_second<true>(even_upper, even_lower);
    rows[12 + r] = every_second<true>(odd_upper, odd_lower);
  }
}

/// Fetches the 32 values that are read from this row after the next 32.
void fetch_ahead(const float* row) {
  __builtin_prefetch(row + 64);
  __builtin_prefetch(row + 64 + kTile);
}

/// Reads up to 16 lines by 32 depths: a row of words for each line where depths lie side by side, else for
/// each pair of depths.
template <int Parts>
[[gnu::always_inline]] inline void read_tile(const SplitSource& tile, Words<Parts>& words, Floats& check) {
  if (tile.depth_stride == 1) {
    const __mmask16 low = lanes(tile.depth), high = lanes(tile.depth - kTile);
    for (int64_t i = 0; i < kTile; ++i) {
      const float* line = tile.data + i * tile.line_stride;
      fetch_ahead(line);
      const __mmask16 any = i < tile.lines ? 0xffff : 0;
      split(load(line, low & any), load(line + kTile, high & any), i, words, check);
    }
    return;
  }
  const __mmask16 present = lanes(tile.lines);
  for (int64_t k = 0; k < kTile; ++k) {
    const float* depth = tile.data + k * tile.depth_stride;
    fetch_ahead(depth);
    fetch_ahead(depth + kTile * tile.depth_stride);
    split(load(depth, k < tile.depth ? present : 0),
          load(depth + kTile * tile.depth_stride, k + kTile < tile.depth ? present : 0), k, words, check);
  }
}

/// Packs one step of one panel.
template <int Parts>
void pack_step(const SplitSource& step, bool transposed, uint16_t* packed, Floats& check) {
  for (int64_t half = 0; half < 2; ++half) {
    SplitSource tile = step;
    tile.data += half * kTile * step.line_stride;
    tile.lines -= half * kTile;
    Words<Parts> words;
    read_tile(tile, words, check);
    for (int64_t part = 0; part < Parts; ++part) {
      if (transposed) transpose(words.part[part]);
      uint16_t* to = packed + (2 * part + half) * kTileElements;
      for (int64_t i = 0; i < kTile; ++i) *reinterpret_cast<Ints*>(to + i * 2 * kTile) = words.part[part][i];
    }
  }
}

template <int Parts>
bool pack(const SplitSource& source, bool transposed, uint16_t* packed) {
  const int64_t panels = (source.lines + kSplitLines - 1) / kSplitLines;
  const int64_t steps = (source.depth + kSplitDepth - 1) / kSplitDepth;
  Floats check = {};
  const auto pack_one = [&](int64_t panel, int64_t step) {
    const int64_t line = panel * kSplitLines, depth = step * kSplitDepth;
    const SplitSource part{source.data + line * source.line_stride + depth * source.depth_stride,
                           source.line_stride, source.depth_stride, source.lines - line,
                           source.depth - depth};
    pack_step<Parts>(part, transposed, packed + (panel * steps + step) * step_elements<Parts>, check);
  };
  // Reads go along the rows in memory.
  if (source.depth_stride == 1) {
    for (int64_t panel = 0; panel < panels; ++panel) {
      for (int64_t step = 0; step < steps; ++step) pack_one(panel, step);
    }
  } else {
    for (int64_t step = 0; step < steps; ++step) {
      for (int64_t panel = 0; panel < panels; ++panel) pack_one(panel, step);
    }
  }
  return _mm512_cmp_ps_mask(check, check, _CMP_UNORD_Q) == 0;
}

// Rows of the left factor's tiles are lines, those of the right factor's are pairs of depths.
template <int Parts>
bool pack_left(const SplitSource& source, uint16_t* packed) {
  return pack<Parts>(source, source.depth_stride != 1, packed);
}
template <int Parts>
bool pack_right(const SplitSource& source, uint16_t* packed) {
  return pack<Parts>(source, source.depth_stride == 1, packed);
}

}  // namespace
}  // namespace nereus::kernels::amx
