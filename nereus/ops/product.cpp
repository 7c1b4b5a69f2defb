#include "nereus/ops/product.h"

#include <ATen/Context.h>

namespace nereus::ops {

kernels::Precision matmul_precision() {
  const bool highest = at::globalContext().float32MatmulPrecision() == at::Float32MatmulPrecision::HIGHEST;
  return highest ? kernels::Precision::highest : kernels::Precision::high;
}

void set_matmul_precision(kernels::Precision precision) {
  at::globalContext().setFloat32MatmulPrecision(precision == kernels::Precision::highest ? "highest"
                                                                                         : "high");
}

}  // namespace nereus::ops
