#include "nereus/checkpoint/to_dtype.h"

namespace nereus::checkpoint {

using formats::DType;

std::optional<at::ScalarType> torch_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return at::kFloat;
    case DType::bf16:
      return at::kBFloat16;
    case DType::f16:
      return at::kHalf;
    default:
      return std::nullopt;
  }
}

std::optional<DType> file_type(at::ScalarType type) {
  if (type == at::kFloat) return DType::f32;
  if (type == at::kBFloat16) return DType::bf16;
  if (type == at::kHalf) return DType::f16;
  return std::nullopt;
}

at::Tensor to_dtype(const at::Tensor& tensor, DType dtype) {
  return tensor.detach().cpu().to(torch_type(dtype).value()).contiguous();
}

std::span<const std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

}  // namespace nereus::checkpoint
