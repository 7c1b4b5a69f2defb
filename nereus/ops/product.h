#pragma once

#include "nereus/kernels/gemm.h"

namespace nereus::ops {

/// How exact products of fp32 are: LibTorch's own setting, which is the process's (`high` and `medium` are
/// both `high` here). Thread-safe to read.
kernels::Precision matmul_precision();
/// REQUIRES: nothing computes meanwhile.
void set_matmul_precision(kernels::Precision precision);

/// c = a · b + beta · c, see kernels::gemm.
inline void product(kernels::ConstMatrix a, kernels::ConstMatrix b, kernels::Matrix c, float beta = 0.0F) {
  kernels::gemm(a, b, c, beta, matmul_precision());
}

}  // namespace nereus::ops
