#include "nereus/formats/tensor_view.h"

#include <gtest/gtest.h>

#include <limits>

namespace nereus::formats {
namespace {

TEST(TensorBytes, Good) {
  struct Case {
    DType dtype;
    std::vector<int64_t> shape;
    int64_t bytes;
  };
  const Case cases[] = {
      {DType::f32, {}, 4},          {DType::f32, {3, 5}, 60},
      {DType::bf16, {3, 5}, 30},    {DType::i64, {0, 7}, 0},
      {DType::boolean, {9}, 9},     {DType::q8_0, {2, 64}, 136},
      {DType::q4_0, {2, 64}, 72},   {DType::q4_1, {2, 64}, 80},
      {DType::q6_k, {3, 256}, 630}, {DType::u8, {int64_t{1} << 62}, int64_t{1} << 62},
  };
  for (const auto& [dtype, shape, bytes] : cases) {
    EXPECT_EQ(tensor_bytes(dtype, shape), bytes) << dtype_name(dtype) << shape_text(shape);
  }
}

TEST(TensorBytes, Bad) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  struct Case {
    DType dtype;
    std::vector<int64_t> shape;
  };
  const Case cases[] = {
      {DType::f32, {-1}},        {DType::f32, {kHuge}},     {DType::f32, {1LL << 31, 1LL << 31}},
      {DType::u8, {kHuge, 2}},   {DType::q8_0, {33}},       {DType::q8_0, {}},
      {DType::q6_k, {256, 128}}, {DType::f64, {1LL << 60}},
  };
  for (const auto& [dtype, shape] : cases) {
    EXPECT_EQ(tensor_bytes(dtype, shape), std::nullopt) << dtype_name(dtype) << shape_text(shape);
  }
}

}  // namespace
}  // namespace nereus::formats
