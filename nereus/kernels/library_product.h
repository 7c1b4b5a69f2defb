#pragma once

#include <cstdint>

#include "nereus/kernels/matrix.h"

namespace nereus::kernels {

/// Weights [in, out] in blocks of 64 columns: fp32 as [out / 64, in, 64], bf16 as [out / 64, in / 2, 64, 2];
/// `in` padded to a multiple of 16 in fp32 and 32 in bf16, `out` to one of 64, with zeros.
struct BlockedWeights {
  const void* data = nullptr;
  int64_t in = 0, out = 0;
  Element element = Element::f32;
};

/// Whether oneDNN has a fast product here for weights in this layout (of any data).
bool library_reads(int64_t in, int64_t out, Element element);

/// Whether oneDNN multiplies tiles of bf16 (AMX) here.
bool library_has_tiles();

/// c = a · b + beta · c by oneDNN, as gemm. REQUIRES: no empty size.
void library_gemm(ConstMatrix a, ConstMatrix b, Matrix c, float beta);

/// y = x · W + beta · y by oneDNN, x in the element of the weights with its row stride. REQUIRES:
/// library_reads.
void library_multiply(const BlockedWeights& weights, const void* x, int64_t x_stride, Matrix y,
                      bool accumulate);

}  // namespace nereus::kernels
