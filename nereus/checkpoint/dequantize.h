#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "nereus/formats/tensor_view.h"

namespace nereus::checkpoint {

/// The element types that `dequantize` takes, for errors.
inline constexpr std::string_view kReadableTypes = "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q6_K";

bool readable(formats::DType dtype);

/// Turns elements of a file into fp32, bit-equal to gguf-py's dequantisation (each product and sum rounded to
/// fp32 by itself). REQUIRES: readable(dtype); `bytes` holds exactly out.size() elements, in whole blocks
void dequantize(formats::DType dtype, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace nereus::checkpoint
