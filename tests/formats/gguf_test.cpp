#include "nereus/formats/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/formats/atomic_file.h"
#include "tests/formats/gguf_builder.h"
#include "tests/formats/scratch_folder.h"

namespace nereus::formats {
namespace {

using test::FileBytes;
using test::gguf_header;
using test::GgufBuilder;
using test::mapped;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string good() {
  return GgufBuilder()
      .text("general.architecture", "llama")
      .u32("llama.block_count", 2)
      .f32("eps", 0.5F)
      .flag("yes", true)
      .texts("tokens", {"a", "", "\xC4\xA0x"})
      .i32s("types", {3, -1})
      .tensor("a", test::kTensorF32, {2, 3}, std::string(24, 'a'))
      .tensor("b", test::kTensorQ8_0, {32}, std::string(34, 'b'))
      .build();
}

TEST(Gguf, Good) {
  const auto file = value_or_throw(GgufFile::parse(mapped(good()), "t.gguf"));
  EXPECT_EQ(file.metadata()["general.architecture"], "llama");
  EXPECT_EQ(file.metadata()["llama.block_count"], 2);
  EXPECT_EQ(file.metadata()["eps"], 0.5);
  EXPECT_EQ(file.metadata()["yes"], true);
  EXPECT_EQ(file.metadata()["tokens"], Json({"a", "", "\xC4\xA0x"}));
  EXPECT_EQ(file.metadata()["types"], Json({3, -1}));
  ASSERT_EQ(file.tensors().size(), 2U);
  const TensorView* a = file.find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a->dtype, DType::f32);
  const TensorView* b = file.find("b");
  EXPECT_EQ(b->dtype, DType::q8_0);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(b->bytes.data()), b->bytes.size()),
            std::string(34, 'b'));
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST(Gguf, EveryValueType) {
  FileBytes bytes = gguf_header(3, 0, 11);
  bytes.text("u8").u32(0).number(uint8_t{255}).text("i8").u32(1).number(int8_t{-1});
  bytes.text("u16").u32(2).number(uint16_t{65535}).text("i16").u32(3).number(int16_t{-1});
  bytes.text("u32").u32(4).number(~uint32_t{0}).text("i32").u32(5).number(int32_t{-1});
  bytes.text("f32").u32(6).number(1.5F).text("bool").u32(7).number(uint8_t{0});
  bytes.text("u64").u32(10).number(~uint64_t{0}).text("i64").u32(11).number(int64_t{-1});
  bytes.text("f64").u32(12).number(0.1);
  const auto file = value_or_throw(GgufFile::parse(mapped(bytes.str()), "t"));
  EXPECT_EQ(file.metadata(), Json::parse(R"({"u8":255,"i8":-1,"u16":65535,"i16":-1,"u32":4294967295,"i32":-1,
      "f32":1.5,"bool":false,"u64":18446744073709551615,"i64":-1,"f64":0.1})"));
}

TEST(Gguf, AlignmentOfTheFile) {
  FileBytes bytes = gguf_header(3, 1, 1);
  bytes.text("general.alignment").u32(test::kGgufU32).u32(64);
  bytes.text("w").u32(1).u64(4).u32(test::kTensorF32).u64(64).align(64).zeros(64).raw("0123456789abcdef");
  const auto file = value_or_throw(GgufFile::parse(mapped(bytes.str()), "t"));
  EXPECT_EQ(file.find("w")->bytes[0], std::byte{'0'});
}

struct BadCase {
  std::string what, bytes, message;
};

/// A tensor's entry and 64 bytes of data.
std::string one_tensor(uint32_t dims, const std::vector<int64_t>& sizes, uint32_t type, uint64_t offset) {
  FileBytes bytes = gguf_header(3, 1, 0);
  bytes.text("w").u32(dims);
  for (const int64_t size : sizes) bytes.number(size);
  return bytes.u32(type).u64(offset).align(32).zeros(64).str();
}

std::string two_tensors(const char* second, uint64_t offset) {
  FileBytes bytes = gguf_header(3, 2, 0);
  bytes.text("v").u32(1).u64(16).u32(test::kTensorF32).u64(0);
  bytes.text(second).u32(1).u64(8).u32(test::kTensorF32).u64(offset);
  return bytes.align(32).zeros(96).str();
}

std::string one_value(uint32_t type, const FileBytes& value) {
  return gguf_header(3, 0, 1).text("k").u32(type).raw(value.str()).str();
}

std::vector<BadCase> bad_cases() {
  const auto alignment = [](uint32_t value) {
    return gguf_header(3, 0, 1).text("general.alignment").u32(test::kGgufU32).u32(value).str();
  };
  return {
      {"empty", "", "header (byte 0): the file ends here (truncated)"},
      {"other file", "PK\x03\x04 and more", "not a GGUF file"},
      {"version 1", FileBytes().raw("GGUF").u32(1).str(), "GGUF version 1 is not supported; expected 3"},
      {"big-endian", FileBytes().raw("GGUF").u32(0x03000000).str(), "expected 3, little-endian"},
      {"tensor count", gguf_header(3, ~uint64_t{0}, 0).str(),
       "tensor count 18446744073709551615 does not fit"},
      {"metadata count", gguf_header(3, 0, 1U << 30U).str(), "metadata count 1073741824 does not fit"},
      {"key beyond the end", gguf_header(3, 0, 1).u64(1000).zeros(20).str(),
       "metadata entry 0 (byte 32): a string of 1000 bytes, but 20 remain"},
      {"string length", one_value(test::kGgufString, FileBytes().u64(~uint64_t{0})), "key 'k'"},
      {"value type", one_value(77, FileBytes().zeros(8)), "key 'k' (byte 37): unknown value type 77"},
      {"array count", one_value(test::kGgufArray, FileBytes().u32(test::kGgufString).u64(1ULL << 61U)),
       "array count 2305843009213693952 does not fit"},
      {"array of arrays", one_value(test::kGgufArray, FileBytes().u32(test::kGgufArray).u64(1).zeros(12)),
       "key 'k' (byte 41): arrays of type 9 are not supported"},
      {"value cut", one_value(test::kGgufU32, FileBytes().raw("ab")),
       "key 'k' (byte 37): the file ends here"},
      {"key twice", GgufBuilder().u32("k", 1).u32("k", 2).build(), "key 'k' (byte 58): stands twice"},
      {"alignment 0", alignment(0), "key 'general.alignment': expected a power of two, found 0"},
      {"alignment 3", alignment(3), "expected a power of two, found 3"},
      {"no dims", one_tensor(0, {}, test::kTensorF32, 0), "tensor 'w' (byte 37): 0 dims; expected 1 to 4"},
      {"many dims", one_tensor(~uint32_t{0}, {1}, test::kTensorF32, 0), "4294967295 dims; expected 1 to 4"},
      {"negative size", one_tensor(1, {-4}, test::kTensorF32, 0),
       "tensor 'w' (byte 57): shape [-4] of F32: negative"},
      {"product overflows", one_tensor(2, {1LL << 40, 1LL << 40}, test::kTensorF32, 0), "too large"},
      {"rows of part blocks", one_tensor(2, {48, 2}, test::kTensorQ8_0, 0),
       "shape [2, 48] of Q8_0: negative, too large, or rows that are no multiple of 32"},
      {"type not read", one_tensor(1, {256}, test::kTensorQ4_K, 0),
       "tensor 'w' (byte 49): type Q4_K is not supported; expected one of F32, F16, BF16"},
      {"type unknown", one_tensor(1, {256}, 1000, 0), "type number 1000 is not supported"},
      {"offset not aligned", one_tensor(1, {4}, test::kTensorF32, 8),
       "tensor 'w': offset 8 is no multiple of 32"},
      {"offset beyond the end", one_tensor(1, {4}, test::kTensorF32, 1ULL << 63U),
       "reach beyond the 64 bytes of data"},
      {"data cut", one_tensor(1, {17}, test::kTensorF32, 0),
       "tensor 'w': 68 bytes at offset 0 reach beyond the 64 bytes of data in the file (truncated?)"},
      {"name twice", two_tensors("v", 64), "tensor 'v' (byte 90): stands twice"},
      {"overlap", two_tensors("w", 32), "tensor 'w' overlaps 'v'"},
  };
}

TEST(Gguf, Bad) {
  for (const auto& [what, bytes, message] : bad_cases()) {
    const auto file = GgufFile::parse(mapped(bytes), "t");
    ASSERT_FALSE(file) << what;
    EXPECT_THAT(file.error().message, AllOf(StartsWith("t: "), HasSubstr(message))) << what;
  }
}

TEST(Gguf, EveryTruncationIsAnError) {
  const std::string whole = good();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(GgufFile::parse(mapped(whole.substr(0, size)), "t")) << size;
  }
}

TEST(Gguf, MappedFromDisk) {
  const test::ScratchFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "t.gguf", good()));
  EXPECT_EQ(value_or_throw(GgufFile::open(folder / "t.gguf")).source(), (folder / "t.gguf").string());
  EXPECT_THAT(GgufFile::open(folder / "none").error().message, HasSubstr("none: cannot be opened"));
}

}  // namespace
}  // namespace nereus::formats
