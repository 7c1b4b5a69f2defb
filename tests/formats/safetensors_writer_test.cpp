#include "nereus/formats/safetensors_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/formats/safetensors.h"
#include "tests/formats/scratch_folder.h"

namespace nereus::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string_view text(const TensorView& view) {
  return {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()};
}

TEST(SafetensorsWriter, ReadBackEqual) {
  const test::ScratchFolder folder;
  const auto path = folder / "t.safetensors";
  const std::vector<TensorView> tensors = {{"b\"é", DType::u8, {3}, bytes("abc")},
                                           {"a", DType::f32, {1, 2}, bytes("01234567")},
                                           {"c", DType::i16, {}, bytes("xy")},
                                           {"none", DType::f32, {0}, {}}};
  ASSERT_TRUE(write_safetensors(path, tensors, {{"format", "pt"}}));
  const auto file = value_or_throw(SafetensorsFile::open(path));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  for (const auto& tensor : tensors) {
    const TensorView* found = file.find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->dtype, tensor.dtype);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_EQ(text(*found), text(tensor));
  }
}

TEST(SafetensorsWriter, WideTypesFirstThenByName) {
  const test::ScratchFolder folder;
  auto writer = value_or_throw(SafetensorsWriter::create(
      folder / "t", {{"z", DType::f32, {1}}, {"a", DType::bf16, {1}}, {"b", DType::f32, {1}}}, {}));
  std::vector<std::string> names;
  for (const auto& tensor : writer.order()) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("b", "z", "a"));
}

TEST(SafetensorsWriter, DataIsAligned) {
  const test::ScratchFolder folder;
  for (const std::string name : {"a", "ab", "abc", "abcd"}) {
    const TensorView tensor{name, DType::u8, {1}, bytes("x")};
    ASSERT_TRUE(write_safetensors(folder / name, {&tensor, 1}, {}));
    EXPECT_EQ((std::filesystem::file_size(folder / name) - 1) % 8, 0U) << name;
  }
}

TEST(SafetensorsWriter, Bad) {
  const test::ScratchFolder folder;
  struct Case {
    std::vector<TensorHeader> tensors;
    std::string message;
  };
  const Case cases[] = {
      {{{"w", DType::f32, {1}}, {"w", DType::u8, {1}}}, "tensor 'w' is given twice"},
      {{{"w", DType::q8_0, {32}}}, "tensor 'w': safetensors cannot hold Q8_0"},
      {{{"w", DType::f32, {1LL << 40, 1LL << 40}}},
       "tensor 'w': shape [1099511627776, 1099511627776] overflows"},
      {{{"w", DType::f32, {-1}}}, "tensor 'w': shape [-1] overflows"},
  };
  for (const auto& [tensors, message] : cases) {
    const auto writer = SafetensorsWriter::create(folder / "t", tensors, {});
    ASSERT_FALSE(writer) << message;
    EXPECT_THAT(writer.error().message, HasSubstr(message));
  }
}

TEST(SafetensorsWriter, WrongBytesOrMissingTensorsLeaveNoFile) {
  const test::ScratchFolder folder;
  {
    auto writer = value_or_throw(SafetensorsWriter::create(folder / "t", {{"w", DType::f32, {2}}}, {}));
    EXPECT_THAT(writer.append(bytes("1234")).error().message,
                HasSubstr("tensor 'w': 4 bytes given, 8 expected"));
    EXPECT_THAT(writer.finish().error().message, HasSubstr("tensor 'w' was not written"));
    ASSERT_TRUE(writer.append(bytes("12345678")));
    EXPECT_THAT(writer.append(bytes("1")).error().message, HasSubstr("more tensors than announced"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace nereus::formats
