// Compiled for AVX-512 with AMX, see CMakeLists.txt.
#include <immintrin.h>

#include "nereus/kernels/pair_kernels.h"

namespace nereus::kernels::amx {
namespace {

constexpr int64_t kPanel = 64;  ///< columns of a panel
constexpr int64_t kHalf = 32;   ///< columns that a unit computes: two tiles
constexpr int64_t kTile = 16;   ///< rows and columns of a tile of sums
constexpr int64_t kDepth = 32;  ///< products that a tile instruction sums
constexpr int64_t kRowBytes = kPanel * 2 * 2;
constexpr int64_t kStepBytes = kDepth / 2 * kRowBytes;
constexpr int64_t kLine = 64;

/// Tile registers 0 to 3 hold sums, 4 and 5 rows of x, 6 and 7 weights.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  TileShapes(int64_t upper, int64_t lower) {
    const int64_t count[8] = {upper, upper, lower, lower, upper, lower, kTile, kTile};
    for (int i = 0; i < 8; ++i) {
      rows[i] = static_cast<uint8_t>(count[i] > 0 ? count[i] : 1);
      row_bytes[i] = 64;
    }
  }
};

/// Sums of up to 32 rows by 32 columns.
struct Patch {
  int64_t upper, lower;  ///< rows of the two tiles of x, the second may have none
  int64_t steps;
  const uint16_t* x;
  int64_t x_bytes;
  const char* weights;
  const char* next;  ///< fetched from memory meanwhile, `share` bytes a step
  int64_t share;
};

void fetch(const char* from, int64_t bytes) {
  for (int64_t line = 0; line < bytes; line += kLine) _mm_prefetch(from + line, _MM_HINT_T1);
}

void multiply_patch(const Patch& patch, float* y, int64_t y_bytes, bool accumulate) {
  if (accumulate) {
    _tile_loadd(0, y, y_bytes);
    _tile_loadd(1, y + kTile, y_bytes);
    if (patch.lower > 0) {
      _tile_loadd(2, reinterpret_cast<const char*>(y) + kTile * y_bytes, y_bytes);
      _tile_loadd(3, reinterpret_cast<const char*>(y + kTile) + kTile * y_bytes, y_bytes);
    }
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const char* lower_x = reinterpret_cast<const char*>(patch.x) + kTile * patch.x_bytes;
  for (int64_t k = 0; k < patch.steps; ++k) {
    fetch(patch.next + k * patch.share, patch.share);
    const char* weights = patch.weights + k * kStepBytes;
    _tile_loadd(4, patch.x + k * kDepth, patch.x_bytes);
    _tile_loadd(6, weights, kRowBytes);
    _tile_loadd(7, weights + kLine, kRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if (patch.lower == 0) continue;
    _tile_loadd(5, lower_x + k * kDepth * 2, patch.x_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, y, y_bytes);
  _tile_stored(1, y + kTile, y_bytes);
  if (patch.lower == 0) return;
  _tile_stored(2, reinterpret_cast<char*>(y) + kTile * y_bytes, y_bytes);
  _tile_stored(3, reinterpret_cast<char*>(y + kTile) + kTile * y_bytes, y_bytes);
}

int64_t row_blocks(const PanelProduct& product) {
  return (product.rows + 2 * kTile - 1) / (2 * kTile);
}

/// A unit is one block of rows with half a panel; the blocks of a half come one after the other.
int64_t units(const PanelProduct& product) {
  return row_blocks(product) * ((product.columns + kHalf - 1) / kHalf);
}

/// Where y has fewer columns than the patch.
void multiply_narrow(const Patch& patch, const PanelProduct& product, int64_t row, int64_t column) {
  alignas(64) float sums[2 * kTile * kHalf];
  multiply_patch(patch, sums, kHalf * 4, false);
  for (int64_t i = 0; i < patch.upper + patch.lower; ++i) {
    float* y = product.y + (row + i) * product.y_stride + column;
    for (int64_t j = 0; column + j < product.columns; ++j) {
      y[j] = sums[i * kHalf + j] + (product.accumulate ? y[j] : 0.0F);
    }
  }
}

void multiply(const PanelProduct& product, int64_t first_unit, int64_t last_unit) {
  const int64_t blocks = row_blocks(product), steps = (product.depth + kDepth - 1) / kDepth;
  const auto* panels = static_cast<const char*>(product.panels);
  int64_t configured = -1;
  for (int64_t unit = first_unit; unit < last_unit; ++unit) {
    const int64_t half = unit / blocks, block = unit % blocks, column = half * kHalf;
    const int64_t row = product.rows * block / blocks, rows = product.rows * (block + 1) / blocks - row;
    const int64_t upper = rows < kTile ? rows : kTile;
    if (rows != configured) {
      const TileShapes shapes(upper, rows - upper);
      asm volatile("" : : "r"(&shapes) : "memory");  // the intrinsic names eight of the bytes that it reads
      _tile_loadconfig(&shapes);
      configured = rows;
    }
    // Both halves' rows of the next panel, spread over all blocks of both halves of this one.
    const int64_t panel_bytes = product.panel_elements * 2, share = kStepBytes / (2 * blocks);
    const char* panel = panels + column / kPanel * panel_bytes;
    const Patch patch{upper,
                      rows - upper,
                      steps,
                      static_cast<const uint16_t*>(product.x) + row * product.x_stride,
                      product.x_stride * 2,
                      panel + column % kPanel * 4,
                      panel + panel_bytes + ((half % 2) * blocks + block) * share * steps,
                      share};
    if (column + kHalf > product.columns) {
      multiply_narrow(patch, product, row, column);
    } else {
      multiply_patch(patch, product.y + row * product.y_stride + column, product.y_stride * 4,
                     product.accumulate);
    }
  }
  if (configured >= 0) _tile_release();
}

}  // namespace

const PairKernels& pair_kernels() {
  static constexpr PairKernels kernels{units, multiply};
  return kernels;
}

}  // namespace nereus::kernels::amx
