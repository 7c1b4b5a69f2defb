#pragma once

#include "nereus/kernels/vector.h"

namespace nereus::kernels::NEREUS_ISA {

// Registers allow a block of 6 rows by this many vectors of columns.
inline constexpr int kBlockRows = 6;
inline constexpr int kBlockVectors = kWidth == 16 ? 4 : 2;

/// A factor by strides: element (i, k) at data[i * row + k * col].
struct Factor {
  const float* data;
  int64_t row, col;
};

template <int Rows, int Vectors>
void product_block(int64_t depth, Factor a, const float* b, int64_t b_row, float* c, int64_t c_row,
                   bool accumulate) {
  Vec sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) sum[i][j] = accumulate ? load(c + i * c_row + j * kWidth) : splat(0);
  }
  for (int64_t k = 0; k < depth; ++k) {
    Vec right[Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) right[j] = load(b + k * b_row + j * kWidth);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const Vec left = splat(a.data[i * a.row + k * a.col]);
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) sum[i][j] += left * right[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) store(c + i * c_row + j * kWidth, sum[i][j]);
  }
}

template <int Vectors>
void product_columns(int64_t rows, int64_t depth, Factor a, const float* b, int64_t b_row, float* c,
                     int64_t c_row, bool accumulate) {
  int64_t i = 0;
  for (; i + kBlockRows <= rows; i += kBlockRows) {
    const Factor part{a.data + i * a.row, a.row, a.col};
    product_block<kBlockRows, Vectors>(depth, part, b, b_row, c + i * c_row, c_row, accumulate);
  }
  const Factor part{a.data + i * a.row, a.row, a.col};
  float* rest = c + i * c_row;
  switch (rows - i) {
    case 5:
      return product_block<5, Vectors>(depth, part, b, b_row, rest, c_row, accumulate);
    case 4:
      return product_block<4, Vectors>(depth, part, b, b_row, rest, c_row, accumulate);
    case 3:
      return product_block<3, Vectors>(depth, part, b, b_row, rest, c_row, accumulate);
    case 2:
      return product_block<2, Vectors>(depth, part, b, b_row, rest, c_row, accumulate);
    case 1:
      return product_block<1, Vectors>(depth, part, b, b_row, rest, c_row, accumulate);
    default:
      return;
  }
}

/// c = a · b, or c += a · b. Shapes [rows, depth] · [depth, cols]; b and c row-major, cols a multiple of
/// kWidth. The sum over depth runs in order, so a row's result does not depend on the other rows.
inline void product(int64_t rows, int64_t depth, int64_t cols, Factor a, const float* b, int64_t b_row,
                    float* c, int64_t c_row, bool accumulate) {
  int64_t j = 0;
  for (; j + kBlockVectors * kWidth <= cols; j += kBlockVectors * kWidth) {
    product_columns<kBlockVectors>(rows, depth, a, b + j, b_row, c + j, c_row, accumulate);
  }
  for (; j < cols; j += kWidth) product_columns<1>(rows, depth, a, b + j, b_row, c + j, c_row, accumulate);
}

}  // namespace nereus::kernels::NEREUS_ISA
