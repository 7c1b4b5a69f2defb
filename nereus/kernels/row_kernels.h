#pragma once

#include <cstdint>

#include "nereus/kernels/isa.h"
#include "nereus/kernels/rows.h"

namespace nereus::kernels {

/// What the logits of one row, times the inverse temperature, say of their distribution.
struct RowDistribution {
  float logsumexp, entropy;
};

/// The operations of rows.h on one row, or one stretch, for one instruction set; serial and stateless.
struct RowKernels {
  /// Returns the inverse rms.
  float (*rms_norm)(const float* x, const float* weight, float eps, int64_t n, float* y);
  void (*rms_norm_backward)(const float* x, const float* weight, float inverse_rms, const float* dy,
                            int64_t n, float* dx);
  /// y += scale · x · z (z may be null for 1).
  void (*add_scaled)(const float* x, const float* z, float scale, int64_t n, float* y);
  void (*sin_cos)(float position, const float* frequencies, int64_t n, float* sines, float* cosines);
  /// Rotates pairs (i, i + half) of x by the angles whose cosines and sines (times sign) are given.
  void (*rotate)(float* x, int64_t half, const float* sines, const float* cosines, float sign);
  void (*swiglu)(const float* gate, const float* up, int64_t n, float* y);
  void (*swiglu_backward)(const float* gate, const float* up, const float* dy, int64_t n, float* dgate,
                          float* dup);
  RowDistribution (*distribution)(const float* logits, float inverse_temperature, int64_t n);
  /// logits = p · (offset + slope · log p), log p = inverse_temperature · logit − logsumexp.
  void (*distribution_backward)(float* logits, float inverse_temperature, float logsumexp, float offset,
                                float slope, int64_t n);
  /// y[rows, out] += scale · (x · a) · b; `inner` holds rows · (rank rounded up to 16).
  void (*low_rank_add)(ConstMatrix x, ConstMatrix a, ConstMatrix b, float scale, float* inner, Matrix y);
  void (*adamw)(float* weights, const float* grads, float* m, float* v, int64_t n, const AdamStep& step);
  double (*sum_of_squares)(const float* x, int64_t n);
  void (*to_bf16)(const float* x, int64_t n, uint16_t* y);
};

/// REQUIRES: this build has kernels of `isa` (see supported_isas).
const RowKernels& row_kernels(Isa isa);

namespace baseline {
const RowKernels& row_kernels();
}
namespace avx2 {
const RowKernels& row_kernels();
}
namespace avx512 {
const RowKernels& row_kernels();
}

}  // namespace nereus::kernels
