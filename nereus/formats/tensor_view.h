#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::formats {

/// Element types of files. Quantised ones store blocks of 32 (Q8_0, Q4_0, Q4_1) or 256 (Q6_K) elements.
enum class DType : uint8_t { f32, f16, bf16, i8, i16, i32, i64, f64, u8, boolean, q8_0, q4_0, q4_1, q6_k };

/// "F32", "Q4_1", ...
std::string_view dtype_name(DType dtype);
struct BlockSize {
  int64_t elements;
  int64_t bytes;
};
/// Elements and bytes of one block; {1, size} for plain types.
BlockSize block_size(DType dtype);

/// Bytes of a tensor; nullopt where a size is negative, the product overflows, or rows are no whole blocks.
std::optional<int64_t> tensor_bytes(DType dtype, std::span<const int64_t> shape);
/// "[576, 1536]"
std::string shape_text(std::span<const int64_t> shape);

/// A tensor inside a mapped file: valid as long as the file object lives.
struct TensorView {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  ///< row-major, slowest first (GGUF's order is reversed on reading)
  std::span<const std::byte> bytes;

  int64_t elements() const;
};

}  // namespace nereus::formats
