#pragma once

#include <ATen/core/Tensor.h>

namespace nereus::ops {

/// In place: each row of logits [rows, n] becomes softmax(logits · inverse_temperatures[row]).
void softmax(at::Tensor& logits, const at::Tensor& inverse_temperatures);

}  // namespace nereus::ops
