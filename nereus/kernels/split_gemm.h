#pragma once

#include "nereus/kernels/matrix.h"
#include "nereus/kernels/memory.h"

namespace nereus::kernels {

/// c = a · b + beta · c in fp32, as gemm.
using DenseProduct = void (*)(ConstMatrix a, ConstMatrix b, Matrix c, float beta);

/// The right factor of a product, [rows, cols]. Its columns lie in groups: group g, of columns g * width to
/// (g + 1) * width, is the matrix at data + g * group_stride. A plain matrix is one group.
struct ColumnGroups {
  ConstMatrix all;  ///< sizes of the whole; data and strides of the first group
  int64_t width, group_stride;
};

/// Whether split_gemm runs here and is faster than oneDNN's fp32 product [m, k] · [k, n].
bool split_gemm_pays(int64_t m, int64_t k, int64_t n);

/// c = a · b + beta · c as accurate as `precision` says, from products of bf16 tiles (AMX). Values below
/// about 1e-33 lose bits. Blocks with infinities or NaN go to `plain`, which may be called from several
/// threads at once. Bits of the result don't depend on the number of threads. Thread-safe. REQUIRES:
/// has_tiles(), no empty size, beta 0 or 1.
void split_gemm(ConstMatrix a, const ColumnGroups& b, Matrix c, float beta, Precision precision,
                DenseProduct plain);
inline void split_gemm(ConstMatrix a, ConstMatrix b, Matrix c, float beta, Precision precision,
                       DenseProduct plain) {
  split_gemm(a, ColumnGroups{b, b.cols, 0}, c, beta, precision, plain);
}

/// The right factor of products of high precision, packed once. Immutable after construction, so thread-safe.
class SplitWeights {
 public:
  /// `b` is [depth, columns]. REQUIRES: has_tiles(), no empty size.
  explicit SplitWeights(ConstMatrix b);

  /// c = a · b + beta · c for any number of rows, with the bits of split_gemm of high precision where all is
  /// finite; a row or column with an infinity, a NaN or a value beyond 3.39e38 becomes NaN. REQUIRES: as
  /// there.
  void multiply(ConstMatrix a, Matrix c, float beta) const;

  int64_t bytes() const { return bytes_; }

 private:
  int64_t panel_elements_, bytes_;
  Memory packed_;
};

}  // namespace nereus::kernels
