#include "nereus/ops/softmax.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/softmax.h>

#include "nereus/kernels/rows.h"
#include "nereus/ops/view.h"

namespace nereus::ops {

void softmax(at::Tensor& logits, const at::Tensor& inverse_temperatures) {
  if (logits.is_cpu())
    kernels::softmax(view(logits), inverse_temperatures.const_data_ptr<float>());
  else
    logits = at::softmax(logits * inverse_temperatures.unsqueeze(1), 1);
}

}  // namespace nereus::ops
