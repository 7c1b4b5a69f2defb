#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <span>

#include "nereus/formats/tensor_view.h"

namespace nereus::checkpoint {

/// The Torch type of f32, bf16 or f16; nullopt for others.
std::optional<at::ScalarType> torch_type(formats::DType dtype);
/// The file type of a Torch type; nullopt unless float, bfloat16 or half.
std::optional<formats::DType> file_type(at::ScalarType type);

/// The tensor on the CPU, contiguous, in `dtype` (rounded to nearest even); itself where it is so already.
/// REQUIRES: torch_type(dtype)
at::Tensor to_dtype(const at::Tensor& tensor, formats::DType dtype);

/// The bytes of a contiguous tensor on the CPU: valid as long as the tensor.
std::span<const std::byte> bytes_of(const at::Tensor& tensor);

}  // namespace nereus::checkpoint
