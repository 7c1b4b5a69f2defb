#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "nereus/base/random.h"
#include "nereus/kernels/matrix.h"

namespace nereus::kernels {

/// A row-major matrix of normal values, whose rows lie `gap` elements apart; the gaps hold NaN, so that a
/// kernel that reads them shows it.
struct RandomMatrix {
  RandomMatrix(int64_t row_count, int64_t col_count, RandomStream& stream, double scale = 1, int64_t gap = 0)
      : rows(row_count), cols(col_count), stride(col_count + gap) {
    values.assign(static_cast<size_t>(rows * stride), NAN);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) at(i, j) = static_cast<float>(scale * stream.normal());
    }
  }

  float& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * stride + j)]; }
  float at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * stride + j)]; }
  Matrix view() { return {values.data(), rows, cols, stride, 1}; }
  ConstMatrix view() const { return {values.data(), rows, cols, stride, 1}; }
  ConstMatrix input() const { return view(); }

  int64_t rows, cols, stride;
  std::vector<float> values;
};

}  // namespace nereus::kernels
