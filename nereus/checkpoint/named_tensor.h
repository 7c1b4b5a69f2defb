#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace nereus::checkpoint {

/// A tensor with its Hugging Face name ("model.layers.0.mlp.up_proj.weight").
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

}  // namespace nereus::checkpoint
