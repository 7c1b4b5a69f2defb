#pragma once

#include <cstdint>

#include "nereus/kernels/matrix.h"

namespace nereus::kernels {

// A fp32 value is the sum of three bf16 values, its parts: the nearest one, the one nearest to what that
// leaves, and the rest; the first two alone have 16 to 17 significant bits. Parts are packed in panels of 32
// lines (rows of the left factor, columns of the right one) over the whole depth, cut into steps of 32; a
// step holds for each part two tiles of 1 KiB. Depth and lines are padded with zeros. Word j of a tile's row
// holds the values of depths j and j + 16.
inline constexpr int64_t kSplitLines = 32;
inline constexpr int64_t kSplitDepth = 32;

/// Part of a factor: line i at depth k is data[i * line_stride + k * depth_stride]; one stride is 1.
struct SplitSource {
  const float* data;
  int64_t line_stride, depth_stride;
  int64_t lines, depth;
};

/// Panels of a packed factor one after the other, from the same step of each on.
struct SplitPanels {
  const uint16_t* first;
  int64_t stride;  ///< elements from a panel to the next
};

/// c = left · right, or c += left · right, of packed factors; c is [rows, columns], row-major. What `streams`
/// is written past the caches: c is too large to be found there later. REQUIRES: not both accumulate and
/// streams.
struct SplitBlock {
  SplitPanels left, right;
  float* c;
  int64_t c_stride, rows, columns;
  int64_t steps;         ///< of depth
  int64_t summed_steps;  ///< sums of so many are added to c
  bool accumulate, streams;
};

/// Products of split fp32 values in bf16 tiles (AMX): all products of two parts that count. Serial and
/// stateless. An element of c depends on its row, its column and the depth alone, whatever the block around
/// it.
struct SplitKernels {
  int64_t parts = 0;  ///< of a value: 3, or 2
  /// Packs a factor into `packed`, aligned to 64 bytes. False where a value is infinite, NaN or rounds to
  /// infinity in bf16, and so has no parts.
  bool (*pack_left)(const SplitSource& source, uint16_t* packed) = nullptr;
  bool (*pack_right)(const SplitSource& source, uint16_t* packed) = nullptr;
  void (*multiply)(const SplitBlock& block) = nullptr;

  int64_t step_elements() const { return parts * kSplitLines * kSplitDepth; }
};

namespace amx {
/// Of fp32 values in three parts, or in the two greater ones. REQUIRES for a call of any: has_tiles().
const SplitKernels& split_kernels(Precision precision);
}  // namespace amx

}  // namespace nereus::kernels
