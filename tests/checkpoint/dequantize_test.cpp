#include "nereus/checkpoint/dequantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "nereus/formats/json_file.h"
#include "nereus/formats/safetensors.h"
#include "nereus/formats/sha256.h"
#include "tests/checkpoint/golden.h"

namespace nereus::checkpoint {
namespace {

using formats::DType;

// Random blocks and what gguf-py makes of them, bit for bit.
TEST(Dequantize, EqualsGgufPy) {
  const auto file = value_or_throw(formats::SafetensorsFile::open(test::golden("blocks.safetensors")));
  for (const DType dtype : {DType::q8_0, DType::q4_0, DType::q4_1, DType::q6_k}) {
    const std::string name(formats::dtype_name(dtype));
    const auto* blocks = file.find(name + ".blocks");
    const auto* expected = file.find(name + ".values");
    ASSERT_TRUE(blocks != nullptr && expected != nullptr) << name;
    std::vector<float> values(static_cast<size_t>(expected->elements()));
    dequantize(dtype, blocks->bytes, values);
    EXPECT_EQ(std::memcmp(values.data(), expected->bytes.data(), expected->bytes.size()), 0) << name;
  }
}

/// Checksum of the fp32 values of all 16-bit numbers that are finite.
std::string digest_of_finite(DType dtype) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  std::vector<float> values(bits.size());
  dequantize(dtype, std::as_bytes(std::span(bits)), values);
  std::erase_if(values, [](float value) { return !std::isfinite(value); });
  return formats::sha256(std::as_bytes(std::span(values)));
}

TEST(Dequantize, EveryFiniteHalfEqualsNumPy) {
  const auto expected = value_or_throw(formats::read_json_file(test::golden("floats.json")));
  EXPECT_EQ(digest_of_finite(DType::f16), expected["finite_f16"]);
  EXPECT_EQ(digest_of_finite(DType::bf16), expected["finite_bf16"]);
}

TEST(Dequantize, OtherTypesAreNotReadable) {
  for (const DType dtype :
       {DType::i8, DType::i16, DType::i32, DType::i64, DType::f64, DType::u8, DType::boolean}) {
    EXPECT_FALSE(readable(dtype)) << formats::dtype_name(dtype);
    std::vector<float> out(1);
    EXPECT_THROW(dequantize(dtype, {}, out), std::logic_error);
  }
}

}  // namespace
}  // namespace nereus::checkpoint
