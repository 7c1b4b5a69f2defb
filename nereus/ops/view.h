#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "nereus/kernels/matrix.h"

namespace nereus::ops {

/// A 2-dim fp32 CPU tensor as the kernels see it; its rows must be contiguous.
inline kernels::Matrix view(const at::Tensor& t) {
  TORCH_CHECK(
      t.dim() == 2 && t.is_cpu() && t.scalar_type() == at::kFloat && (t.stride(1) == 1 || t.size(1) == 1),
      "expected an fp32 matrix with contiguous rows");
  return {t.data_ptr<float>(), t.size(0), t.size(1), t.stride(0), 1};
}

inline kernels::ConstMatrix const_view(const at::Tensor& t) {
  const kernels::Matrix m = view(t);
  return {m.data, m.rows, m.cols, m.row_stride, m.col_stride};
}

/// Columns [begin, begin + count) of a matrix.
template <class T>
kernels::MatrixView<T> columns(kernels::MatrixView<T> m, int64_t begin, int64_t count) {
  return {m.data + begin * m.col_stride, m.rows, count, m.row_stride, m.col_stride};
}

/// Rows [begin, begin + count) of a matrix.
template <class T>
kernels::MatrixView<T> rows(kernels::MatrixView<T> m, int64_t begin, int64_t count) {
  return {m.data + begin * m.row_stride, count, m.cols, m.row_stride, m.col_stride};
}

}  // namespace nereus::ops
