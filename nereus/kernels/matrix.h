#pragma once

#include <cstdint>
#include <type_traits>

namespace nereus::kernels {

/// A matrix in memory that is not owned: element (i, j) lies at data[i * row_stride + j * col_stride].
/// One of the strides is 1 (row-major, or a transposed view of it).
template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0, cols = 0;
  int64_t row_stride = 0, col_stride = 1;

  MatrixView transposed() const { return {data, cols, rows, col_stride, row_stride}; }
  operator MatrixView<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, row_stride, col_stride};
  }
};
using Matrix = MatrixView<float>;
using ConstMatrix = MatrixView<const float>;

/// Type in which stored weights or keys and values are kept; sums are always fp32.
enum class Element : uint8_t { f32, bf16 };

/// How exact products of fp32 values are. `highest`: as products in fp32. `high`: where it is faster (AMX),
/// each value counts as the sum of two bf16 values, which have 16 to 17 significant bits (fp32: 24, TF32:
/// 11), and sums are fp32; elsewhere as `highest`. The terms are those of PyTorch's float32_matmul_precision.
enum class Precision : uint8_t { highest, high };

/// Whether products of bf16 weights run in hardware here (AVX512_BF16 or AMX); without it bf16 is correct
/// but slow.
bool has_fast_bf16();

}  // namespace nereus::kernels
