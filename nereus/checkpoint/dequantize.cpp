#include "nereus/checkpoint/dequantize.h"

#include <c10/util/Half.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace nereus::checkpoint {
namespace {

using formats::DType;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

float half(const std::byte* from) {
  return c10::detail::fp16_ieee_to_fp32_value(load<uint16_t>(from));
}

void copy_f32(const std::byte* in, std::span<float> out) {
  std::memcpy(out.data(), in, out.size_bytes());
}

void copy_f16(const std::byte* in, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = half(in + 2 * i);
}

void copy_bf16(const std::byte* in, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(in + 2 * i)) << 16U);
  }
}

/// Scale, 32 signed bytes.
void block_q8_0(const std::byte* in, float* out) {
  const float scale = half(in);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(load<int8_t>(in + 2 + i)) * scale;
}

/// Scale, 16 bytes: element i in the low halves, i + 16 in the high ones, both with an offset of 8.
void block_q4_0(const std::byte* in, float* out) {
  const float scale = half(in);
  for (int i = 0; i < 16; ++i) {
    const auto pair = std::to_integer<int>(in[2 + i]);
    out[i] = scale * static_cast<float>((pair & 15) - 8);
    out[i + 16] = scale * static_cast<float>((pair >> 4) - 8);
  }
}

/// Scale, minimum, 16 bytes as in Q4_0 without offset.
void block_q4_1(const std::byte* in, float* out) {
  const float scale = half(in), minimum = half(in + 2);
  for (int i = 0; i < 16; ++i) {
    const auto pair = std::to_integer<int>(in[4 + i]);
    out[i] = scale * static_cast<float>(pair & 15) + minimum;
    out[i + 16] = scale * static_cast<float>(pair >> 4) + minimum;
  }
}

/// 128 bytes of low halves, 64 bytes of two high bits, 16 scales for 16 elements each, a scale of scales.
/// Each half of the block has 128 elements in four groups of 32.
void block_q6_k(const std::byte* in, float* out) {
  const std::byte* scales = in + 192;
  const float scale = half(in + 208);
  for (int element = 0; element < 256; ++element) {
    const int side = element / 128, group = element / 32 % 4, place = element % 32;
    const auto low = std::to_integer<int>(in[64 * side + 32 * (group % 2) + place]) >> (4 * (group / 2));
    const auto high = std::to_integer<int>(in[128 + 32 * side + place]) >> (2 * group);
    const int value = ((low & 15) | ((high & 3) << 4)) - 32;
    out[element] =
        scale * static_cast<float>(load<int8_t>(scales + element / 16)) * static_cast<float>(value);
  }
}

template <auto Block>
void blocks(DType dtype, const std::byte* in, std::span<float> out) {
  const auto size = formats::block_size(dtype);
  const auto count = static_cast<int64_t>(out.size()) / size.elements;
  for (int64_t i = 0; i < count; ++i) Block(in + i * size.bytes, out.data() + i * size.elements);
}

}  // namespace

bool readable(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::q8_0:
    case DType::q4_0:
    case DType::q4_1:
    case DType::q6_k:
      return true;
    default:
      return false;
  }
}

void dequantize(DType dtype, std::span<const std::byte> bytes, std::span<float> out) {
  switch (dtype) {
    case DType::f32:
      return copy_f32(bytes.data(), out);
    case DType::f16:
      return copy_f16(bytes.data(), out);
    case DType::bf16:
      return copy_bf16(bytes.data(), out);
    case DType::q8_0:
      return blocks<block_q8_0>(dtype, bytes.data(), out);
    case DType::q4_0:
      return blocks<block_q4_0>(dtype, bytes.data(), out);
    case DType::q4_1:
      return blocks<block_q4_1>(dtype, bytes.data(), out);
    case DType::q6_k:
      return blocks<block_q6_k>(dtype, bytes.data(), out);
    default:
      throw std::logic_error("dequantize: a type that is not readable");
  }
}

}  // namespace nereus::checkpoint
