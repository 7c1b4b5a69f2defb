#include "nereus/formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/formats/atomic_file.h"
#include "tests/formats/file_bytes.h"
#include "tests/formats/scratch_folder.h"

namespace nereus::formats {
namespace {

using test::FileBytes;
using test::mapped;
using test::safetensors_bytes;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Safetensors, Good) {
  const auto file =
      value_or_throw(SafetensorsFile::parse(mapped(safetensors_bytes(R"({"__metadata__":{"format":"pt"},
                                   "b":{"dtype":"F32","shape":[1,2],"data_offsets":[2,10]},
                                   "a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},
                                   "none":{"dtype":"I64","shape":[0,3],"data_offsets":[10,10]}})",
                                                                     "0123456789")),
                                            "t.safetensors"));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_EQ(file.tensors().size(), 3U);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.tensors()[0].elements(), 1);
  const TensorView* b = file.find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, DType::f32);
  EXPECT_EQ(b->shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(b->bytes.data()), b->bytes.size()), "23456789");
  EXPECT_EQ(file.find("none")->elements(), 0);
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST(Safetensors, NoTensors) {
  const auto file = SafetensorsFile::parse(mapped(safetensors_bytes("{}", "")), "t");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->tensors().empty());
}

struct BadCase {
  std::string what, bytes, message;
};

std::string tensor(const char* fields) {
  return std::string(R"({"w":{)") + fields + "}}";
}

std::vector<BadCase> bad_cases() {
  const auto with = [](const char* fields, size_t data) {
    return safetensors_bytes(tensor(fields), std::string(data, 'x'));
  };
  return {
      {"empty", "",
       "t: truncated: a safetensors file begins with 8 bytes of header length, this has 0 bytes"},
      {"short length", "abc", "this has 3 bytes"},
      {"header cut", FileBytes().u64(100).raw("{}").str(),
       "truncated: the header should have 100 bytes, the file has 2"},
      {"huge header", FileBytes().u64(~uint64_t{0}).raw("{}").str(),
       "header length 18446744073709551615 exceeds"},
      {"not JSON", safetensors_bytes("{", ""), "t: header: not valid JSON"},
      {"deep JSON", safetensors_bytes(std::string(1000, '[') + std::string(1000, ']'), ""),
       "header: JSON nested deeper than 256 levels"},
      {"no object", safetensors_bytes("[]", ""), "header: expected a JSON object"},
      {"twice",
       safetensors_bytes(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                             "w":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})",
                         "x"),
       "tensor 'w' is listed twice"},
      {"metadata", safetensors_bytes(R"({"__metadata__":[]})", ""),
       "__metadata__: expected an object of strings"},
      {"metadata value", safetensors_bytes(R"({"__metadata__":{"a":1}})", ""),
       "__metadata__.a: expected a string"},
      {"no fields", safetensors_bytes(R"({"w":1})", ""), "tensor 'w': expected an object with dtype"},
      {"no dtype", with(R"("shape":[1],"data_offsets":[0,4])", 4), "tensor 'w': dtype: expected a string"},
      {"unknown dtype", with(R"("dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4])", 4),
       "tensor 'w': dtype 'F8_E4M3' is not supported; expected one of F32, F16, BF16"},
      {"quantised dtype", with(R"("dtype":"Q8_0","shape":[32],"data_offsets":[0,34])", 34),
       "dtype 'Q8_0' is not supported"},
      {"no shape", with(R"("dtype":"F32","data_offsets":[0,4])", 4), "tensor 'w': shape: expected an array"},
      {"negative size", with(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])", 4),
       "shape: expected non-negative integers, found -1"},
      {"fraction", with(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])", 4), "found 1.0"},
      {"size beyond 64 bits", with(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])", 4),
       "found 18446744073709551615"},
      {"product overflows", with(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4])", 4),
       "tensor 'w': shape [4294967296, 4294967296] overflows"},
      {"three offsets", with(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,8])", 8),
       "expected [begin, end]"},
      {"offsets back", with(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])", 4), "expected [begin, end]"},
      {"beyond the end", with(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 4),
       "tensor 'w': data_offsets [0, 8] end beyond the 4 bytes of data in the file (truncated?)"},
      {"wrong length", with(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])", 4),
       "tensor 'w': 4 bytes of data, but shape [2] of F32 needs 8"},
      {"overlap",
       safetensors_bytes(R"({"v":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                             "w":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                         "012345"),
       "tensor 'w' overlaps 'v'"},
      {"same place",
       safetensors_bytes(R"({"v":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                             "w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                         "0123"),
       "overlaps"},
      {"hole", with(R"("dtype":"U8","shape":[1],"data_offsets":[1,2])", 2),
       "tensor 'w': 1 bytes before it belong to no tensor"},
      {"left over", with(R"("dtype":"U8","shape":[1],"data_offsets":[0,1])", 3),
       "2 bytes at the end belong to no tensor"},
  };
}

TEST(Safetensors, Bad) {
  for (const auto& [what, bytes, message] : bad_cases()) {
    const auto file = SafetensorsFile::parse(mapped(bytes), "t");
    ASSERT_FALSE(file) << what;
    EXPECT_THAT(file.error().message, AllOf(StartsWith("t: "), HasSubstr(message))) << what;
  }
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string whole =
      safetensors_bytes(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "01234567");
  ASSERT_TRUE(SafetensorsFile::parse(mapped(whole), "t"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(SafetensorsFile::parse(mapped(whole.substr(0, size)), "t")) << size;
  }
}

TEST(Safetensors, MappedFromDisk) {
  const test::ScratchFolder folder;
  const auto path = folder / "w.safetensors";
  ASSERT_TRUE(write_file_atomically(
      path, safetensors_bytes(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x")));
  const auto file = value_or_throw(SafetensorsFile::open(path));
  EXPECT_EQ(file.source(), path.string());
  EXPECT_EQ(file.find("w")->bytes[0], std::byte{'x'});
  EXPECT_THAT(SafetensorsFile::open(folder / "none").error().message, HasSubstr("none: cannot be opened"));
}

}  // namespace
}  // namespace nereus::formats
