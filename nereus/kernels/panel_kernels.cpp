// Compiled once an instruction set, see CMakeLists.txt.
#include "nereus/kernels/panel_kernels.h"

#include "nereus/kernels/product.h"

namespace nereus::kernels::NEREUS_ISA {
namespace {

constexpr int64_t kPanel = kBlockVectors * kWidth;
constexpr int64_t kLine = 64;         ///< bytes of a cache line
constexpr int64_t kDepthBlock = 128;  ///< rows of a panel that stay in the first-level cache

/// What to fetch from memory while a block is computed, evenly over its steps: fetching all of it at once
/// would fill the queue that the block's own loads wait in, and fetching nothing would leave memory idle.
struct Fetch {
  const char* from;
  int64_t bytes_per_step;
};

template <int Rows, class T>
void block(int64_t depth, const float* x, int64_t x_stride, const T* panel, float* y, int64_t y_stride,
           bool accumulate, Fetch fetch) {
  Vec sum[Rows][kBlockVectors];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kBlockVectors; ++j) {
      sum[i][j] = accumulate ? load(y + i * y_stride + j * kWidth) : splat(0);
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    const char* next = fetch.from + k * fetch.bytes_per_step;
    __builtin_prefetch(next, 0, 2);
    for (int64_t line = kLine; line < fetch.bytes_per_step; line += kLine)
      __builtin_prefetch(next + line, 0, 2);
    Vec right[kBlockVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kBlockVectors; ++j) right[j] = load(panel + k * kPanel + j * kWidth);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const Vec left = splat(x[i * x_stride + k]);
#pragma GCC unroll 8
      for (int j = 0; j < kBlockVectors; ++j) sum[i][j] += left * right[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kBlockVectors; ++j) store(y + i * y_stride + j * kWidth, sum[i][j]);
  }
}

template <class T>
void rows_of_block(int64_t rows, int64_t depth, const float* x, int64_t x_stride, const T* panel, float* y,
                   int64_t y_stride, bool accumulate, Fetch fetch) {
  static_assert(kBlockRows == 6);
  switch (rows) {
    case 6:
      return block<6>(depth, x, x_stride, panel, y, y_stride, accumulate, fetch);
    case 5:
      return block<5>(depth, x, x_stride, panel, y, y_stride, accumulate, fetch);
    case 4:
      return block<4>(depth, x, x_stride, panel, y, y_stride, accumulate, fetch);
    case 3:
      return block<3>(depth, x, x_stride, panel, y, y_stride, accumulate, fetch);
    case 2:
      return block<2>(depth, x, x_stride, panel, y, y_stride, accumulate, fetch);
    default:
      return block<1>(depth, x, x_stride, panel, y, y_stride, accumulate, fetch);
  }
}

int64_t row_blocks(const PanelProduct& product) {
  return (product.rows + kBlockRows - 1) / kBlockRows;
}

/// A unit is one block of rows with one panel, counted panel by panel.
int64_t units(const PanelProduct& product) {
  return row_blocks(product) * ((product.columns + kPanel - 1) / kPanel);
}

/// Row blocks [first, last) with one panel, writing y of kPanel columns.
template <class T>
void multiply_panel(const PanelProduct& product, const T* panel, int64_t first, int64_t last, float* y,
                    int64_t y_stride, bool accumulate) {
  const int64_t blocks = row_blocks(product),
                share = kPanel * static_cast<int64_t>(sizeof(T)) / (last - first);
  for (int64_t k = 0; k < product.depth; k += kDepthBlock) {
    const int64_t depth = k + kDepthBlock <= product.depth ? kDepthBlock : product.depth - k;
    const T* here = panel + k * kPanel;
    const char* next = reinterpret_cast<const char*>(here + depth * kPanel);
    for (int64_t b = first; b < last; ++b) {
      const int64_t row = product.rows * b / blocks, end = product.rows * (b + 1) / blocks;
      rows_of_block(end - row, depth, product.x + row * product.x_stride + k, product.x_stride, here,
                    y + row * y_stride, y_stride, accumulate || k > 0,
                    Fetch{next + (b - first) * share * depth, share});
    }
  }
}

/// The last panel where y has fewer columns: one block of rows at a time by way of a full panel's sums.
template <class T>
void multiply_last_panel(const PanelProduct& product, const T* panel, int64_t first, int64_t last,
                         int64_t column) {
  const int64_t blocks = row_blocks(product), columns = product.columns - column;
  float sums[kBlockRows * kPanel];
  for (int64_t b = first; b < last; ++b) {
    const int64_t row = product.rows * b / blocks, end = product.rows * (b + 1) / blocks;
    rows_of_block(end - row, product.depth, product.x + row * product.x_stride, product.x_stride, panel, sums,
                  kPanel, false, Fetch{reinterpret_cast<const char*>(panel), 0});
    for (int64_t i = row; i < end; ++i) {
      float* y = product.y + i * product.y_stride + column;
      for (int64_t j = 0; j < columns; ++j) {
        y[j] = sums[(i - row) * kPanel + j] + (product.accumulate ? y[j] : 0.0F);
      }
    }
  }
}

template <class T>
void multiply(const PanelProduct& product, int64_t first_unit, int64_t last_unit) {
  const int64_t blocks = row_blocks(product);
  while (first_unit < last_unit) {
    const int64_t p = first_unit / blocks, first = first_unit % blocks;
    const int64_t left = last_unit - first_unit, last = first + left < blocks ? first + left : blocks;
    const T* panel = static_cast<const T*>(product.panels) + p * product.panel_elements;
    if ((p + 1) * kPanel <= product.columns) {
      multiply_panel(product, panel, first, last, product.y + p * kPanel, product.y_stride,
                     product.accumulate);
    } else {
      multiply_last_panel(product, panel, first, last, p * kPanel);
    }
    first_unit += last - first;
  }
}

}  // namespace

const PanelKernels& panel_kernels() {
  static constexpr PanelKernels kernels{kPanel, units, multiply<float>, multiply<uint16_t>};
  return kernels;
}

}  // namespace nereus::kernels::NEREUS_ISA
