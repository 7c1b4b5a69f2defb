#pragma once

#include <ATen/core/Tensor.h>

#include "nereus/kernels/rows.h"

namespace nereus::ops {

using AdamStep = kernels::AdamStep;

/// One AdamW update in place; all fp32, contiguous, of one shape.
void adamw(at::Tensor& weight, const at::Tensor& grad, at::Tensor& m, at::Tensor& v, const AdamStep& step);

/// Sum of squares of all elements.
double sum_of_squares(const at::Tensor& t);

}  // namespace nereus::ops
