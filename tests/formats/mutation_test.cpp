// Valid files with a few bytes changed, thousands of times: readers answer with a value or an error and
// stay within the bytes (the sanitizer builds see to that). The fuzzers in tests/fuzz go further.
#include <gtest/gtest.h>

#include <string>

#include "nereus/base/json.h"
#include "nereus/base/random.h"
#include "nereus/formats/gguf.h"
#include "nereus/formats/safetensors.h"
#include "tests/formats/gguf_builder.h"

namespace nereus::formats {
namespace {

constexpr int kMutations = 4000;

/// Changes one to four bytes: to anything, by one bit, or to an extreme that counts and lengths dislike.
std::string mutate(std::string bytes, RandomStream& random) {
  for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
    char& byte = bytes[random.below(bytes.size())];
    switch (random.below(3)) {
      case 0:
        byte = static_cast<char>(random.below(256));
        break;
      case 1:
        byte = static_cast<char>(byte ^ (1 << random.below(8)));
        break;
      default:
        byte = random.below(2) == 0 ? '\xFF' : '\x00';
    }
  }
  if (random.below(8) == 0) bytes.resize(random.below(bytes.size()));
  return bytes;
}

/// Reads every byte that a file says its tensors have.
template <class File>
unsigned sum_of_bytes(const File& file) {
  unsigned sum = 0;
  for (const auto& tensor : file.tensors()) {
    for (const std::byte byte : tensor.bytes) sum += std::to_integer<unsigned>(byte);
  }
  return sum;
}

template <class File>
void run(const std::string& good) {
  RandomStream random(11, 0);
  ASSERT_TRUE(File::parse(test::mapped(good), "t"));
  const unsigned limit = 255 * static_cast<unsigned>(good.size());
  int errors = 0;
  for (int i = 0; i < kMutations; ++i) {
    const auto file = File::parse(test::mapped(mutate(good, random)), "t");
    if (file) {
      EXPECT_LE(sum_of_bytes(*file), limit);
    } else {
      EXPECT_EQ(file.error().message.rfind("t: ", 0), 0U) << file.error().message;
      ++errors;
    }
  }
  EXPECT_GT(errors, kMutations / 4);
}

TEST(Mutations, Safetensors) {
  run<SafetensorsFile>(test::safetensors_bytes(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[16,24]}})",
      std::string(24, 'x')));
}

TEST(Mutations, Gguf) {
  run<GgufFile>(test::GgufBuilder()
                    .text("general.architecture", "llama")
                    .u32("llama.block_count", 1)
                    .texts("tokenizer.ggml.tokens", {"a", "b"})
                    .i32s("tokenizer.ggml.token_type", {1, 3})
                    .tensor("w", test::kTensorF32, {2, 3}, std::string(24, 'x'))
                    .tensor("v", test::kTensorQ4_0, {32}, std::string(18, 'y'))
                    .build());
}

TEST(Mutations, Json) {
  RandomStream random(12, 0);
  const std::string good = R"({"a": [1, -2.5e3, true, null], "b": {"c": "x\n\u00e9"}})";
  for (int i = 0; i < kMutations; ++i) {
    const auto value = parse_json(mutate(good, random), "t");
    if (value) continue;
    EXPECT_EQ(value.error().message.rfind("t: ", 0), 0U) << value.error().message;
  }
}

}  // namespace
}  // namespace nereus::formats
