#include "nereus/formats/tensor_view.h"

#include <fmt/ranges.h>

#include <array>
#include <limits>

namespace nereus::formats {
namespace {

struct DTypeInfo {
  std::string_view name;
  BlockSize block;
};

// In the order of DType.
constexpr std::array<DTypeInfo, 14> kInfo = {{
    {"F32", {1, 4}},
    {"F16", {1, 2}},
    {"BF16", {1, 2}},
    {"I8", {1, 1}},
    {"I16", {1, 2}},
    {"I32", {1, 4}},
    {"I64", {1, 8}},
    {"F64", {1, 8}},
    {"U8", {1, 1}},
    {"BOOL", {1, 1}},
    {"Q8_0", {32, 34}},    // fp16 scale, 32 x int8
    {"Q4_0", {32, 18}},    // fp16 scale, 32 x 4 bits
    {"Q4_1", {32, 20}},    // fp16 scale and minimum, 32 x 4 bits
    {"Q6_K", {256, 210}},  // 256 x (4 + 2) bits, 16 x int8 scales, fp16 scale
}};

const DTypeInfo& info(DType dtype) {
  return kInfo.at(static_cast<size_t>(dtype));
}

/// a * b, or nullopt where it does not fit. REQUIRES: a, b >= 0
std::optional<int64_t> product(int64_t a, int64_t b) {
  if (b != 0 && a > std::numeric_limits<int64_t>::max() / b) return std::nullopt;
  return a * b;
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  return info(dtype).name;
}

BlockSize block_size(DType dtype) {
  return info(dtype).block;
}

std::optional<int64_t> tensor_bytes(DType dtype, std::span<const int64_t> shape) {
  const BlockSize block = block_size(dtype);
  if (block.elements > 1 && (shape.empty() || shape.back() % block.elements != 0)) return std::nullopt;
  std::optional<int64_t> elements = 1;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    elements = product(*elements, size);
    if (!elements) return std::nullopt;
  }
  return product(*elements / block.elements, block.bytes);
}

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

int64_t TensorView::elements() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

}  // namespace nereus::formats
