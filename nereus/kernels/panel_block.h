#pragma once

#include "nereus/kernels/panel_kernels.h"
#include "nereus/kernels/product.h"

// Products with panels, for any way of multiplying. Included only by files compiled once an instruction set.
//
// A `Step` says what is done with one row of a panel, kPanel columns wide:
//   Input, Stored       types of x and of the weights
//   kDepth              rows of the weights that a step takes
//   Right right(p), Left left(x), Vec add(sum, left, right)
namespace nereus::kernels::NEREUS_ISA {

inline constexpr int64_t kPanel = kBlockVectors * kWidth;
inline constexpr int64_t kLine = 64;  ///< bytes of a cache line
/// Most steps of a block: their part of a panel, 72 KB, stays in the second-level cache.
inline constexpr int64_t kBlockSteps = 288;

/// What to fetch from memory while a block is computed, evenly over its steps: fetching all of it at once
/// would fill the queue that the block's own loads wait in, and fetching nothing would leave memory idle.
struct Fetch {
  const char* from;
  int64_t bytes_per_step;
};

template <class Step>
struct Block {
  using Input = typename Step::Input;
  using Stored = typename Step::Stored;
  int64_t steps;
  const Input* x;
  int64_t x_stride;
  const Stored* panel;
  float* y;
  int64_t y_stride;
  bool accumulate;
  Fetch fetch;

  template <int Rows>
  void run() const {
    constexpr int64_t kRow = kPanel * Step::kDepth;
    Vec sum[Rows][kBlockVectors];
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kBlockVectors; ++j) {
        sum[i][j] = accumulate ? load(y + i * y_stride + j * kWidth) : splat(0);
      }
    }
    for (int64_t k = 0; k < steps; ++k) {
      const char* next = fetch.from + k * fetch.bytes_per_step;
      __builtin_prefetch(next, 0, 2);
      for (int64_t line = kLine; line < fetch.bytes_per_step; line += kLine)
        __builtin_prefetch(next + line, 0, 2);
      typename Step::Right right[kBlockVectors];
#pragma GCC unroll 8
      for (int j = 0; j < kBlockVectors; ++j) {
        right[j] = Step::right(panel + k * kRow + j * kWidth * Step::kDepth);
      }
#pragma GCC unroll 8
      for (int i = 0; i < Rows; ++i) {
        const auto left = Step::left(x + i * x_stride + k * Step::kDepth);
#pragma GCC unroll 8
        for (int j = 0; j < kBlockVectors; ++j) sum[i][j] = Step::add(sum[i][j], left, right[j]);
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kBlockVectors; ++j) store(y + i * y_stride + j * kWidth, sum[i][j]);
    }
  }

  void run(int64_t rows) const {
    static_assert(kBlockRows == 6);
    switch (rows) {
      case 6:
        return run<6>();
      case 5:
        return run<5>();
      case 4:
        return run<4>();
      case 3:
        return run<3>();
      case 2:
        return run<2>();
      default:
        return run<1>();
    }
  }
};

inline int64_t row_blocks(const PanelProduct& product) {
  return (product.rows + kBlockRows - 1) / kBlockRows;
}

/// A unit is one block of rows with one panel, counted panel by panel.
inline int64_t panel_units(const PanelProduct& product) {
  return row_blocks(product) * ((product.columns + kPanel - 1) / kPanel);
}

/// Row blocks [first, last) with one panel, writing y of kPanel columns.
template <class Step>
void multiply_panel(const PanelProduct& product, const typename Step::Stored* panel, int64_t first,
                    int64_t last, float* y) {
  constexpr int64_t kRow = kPanel * Step::kDepth, kRowBytes = kRow * sizeof(typename Step::Stored);
  const auto* x = static_cast<const typename Step::Input*>(product.x);
  const int64_t blocks = row_blocks(product), share = kRowBytes / (last - first);
  const int64_t all = (product.depth + Step::kDepth - 1) / Step::kDepth;
  const int64_t parts = (all + kBlockSteps - 1) / kBlockSteps;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t k = all * part / parts, steps = all * (part + 1) / parts - k;
    const auto* here = panel + k * kRow;
    const char* next = reinterpret_cast<const char*>(here + steps * kRow);
    for (int64_t b = first; b < last; ++b) {
      const int64_t row = product.rows * b / blocks, end = product.rows * (b + 1) / blocks;
      Block<Step>{steps,
                  x + row * product.x_stride + k * Step::kDepth,
                  product.x_stride,
                  here,
                  y + row * product.y_stride,
                  product.y_stride,
                  product.accumulate || k > 0,
                  Fetch{next + (b - first) * share * steps, share}}
          .run(end - row);
    }
  }
}

/// The last panel where y has fewer columns: one block of rows at a time by way of a full panel's sums.
template <class Step>
void multiply_last_panel(const PanelProduct& product, const typename Step::Stored* panel, int64_t first,
                         int64_t last, int64_t column) {
  const auto* x = static_cast<const typename Step::Input*>(product.x);
  const int64_t blocks = row_blocks(product), columns = product.columns - column;
  const int64_t all = (product.depth + Step::kDepth - 1) / Step::kDepth;
  float sums[kBlockRows * kPanel];
  for (int64_t b = first; b < last; ++b) {
    const int64_t row = product.rows * b / blocks, end = product.rows * (b + 1) / blocks;
    Block<Step>{all,
                x + row * product.x_stride,
                product.x_stride,
                panel,
                sums,
                kPanel,
                false,
                Fetch{reinterpret_cast<const char*>(panel), 0}}
        .run(end - row);
    for (int64_t i = row; i < end; ++i) {
      float* y = product.y + i * product.y_stride + column;
      for (int64_t j = 0; j < columns; ++j) {
        y[j] = sums[(i - row) * kPanel + j] + (product.accumulate ? y[j] : 0.0F);
      }
    }
  }
}

template <class Step>
void multiply_panels(const PanelProduct& product, int64_t first_unit, int64_t last_unit) {
  const int64_t blocks = row_blocks(product);
  while (first_unit < last_unit) {
    const int64_t p = first_unit / blocks, first = first_unit % blocks;
    const int64_t left = last_unit - first_unit, last = first + left < blocks ? first + left : blocks;
    const auto* panel =
        static_cast<const typename Step::Stored*>(product.panels) + p * product.panel_elements;
    if ((p + 1) * kPanel <= product.columns) {
      multiply_panel<Step>(product, panel, first, last, product.y + p * kPanel);
    } else {
      multiply_last_panel<Step>(product, panel, first, last, p * kPanel);
    }
    first_unit += last - first;
  }
}

}  // namespace nereus::kernels::NEREUS_ISA
