#include "nereus/text/stream_decoder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "golden_cases.h"
#include "nereus/text/utf8.h"

namespace nereus::text {
namespace {

/// Feeds all golden strings of NAME to one decoder, one after the other.
void expect_streams(const Tokenizer& tokenizer, const std::string& name, bool skip_special) {
  StreamDecoder decoder(tokenizer, skip_special);
  size_t pieces = 0, ids = 0;
  for (const GoldenCase& c : golden_cases(name)) {
    std::string all;
    for (const int32_t id : c.ids) {
      const std::string piece = decoder.push(id);
      ASSERT_TRUE(valid_utf8(piece)) << c.text;
      pieces += !piece.empty();
      all += piece;
    }
    ids += c.ids.size();
    all += decoder.finish();
    EXPECT_EQ(all, skip_special ? c.plain : c.decoded);
  }
  EXPECT_GT(pieces, ids / 2);  // text does come out on the way
}

class Streams : public testing::TestWithParam<std::string> {};

TEST_P(Streams, PiecesAreValidAndTogetherEqualDecode) {
  const Tokenizer tokenizer = small_tokenizer(GetParam());
  for (const bool skip_special : {false, true}) expect_streams(tokenizer, GetParam(), skip_special);
}

INSTANTIATE_TEST_SUITE_P(StreamDecoder, Streams, testing::Values("smollm", "llama3", "qwen2"),
                         [](const auto& test) { return test.param; });

TEST(StreamDecoder, SmolLm2PiecesAreValidAndTogetherEqualDecode) {
  if (!std::filesystem::exists(smollm2_path())) GTEST_SKIP() << "missing " << smollm2_path();
  const Tokenizer tokenizer = value_or_throw(Tokenizer::load(smollm2_path()));
  for (const bool skip_special : {false, true}) expect_streams(tokenizer, "smollm2", skip_special);
}

TEST(StreamDecoder, WaitsForTheWholeCharacter) {
  const Tokenizer tokenizer = small_tokenizer("smollm");
  StreamDecoder decoder(tokenizer, false);
  const auto push = [&](const std::string& token) { return decoder.push(*tokenizer.id(token)); };
  EXPECT_EQ(push("ð"), "");  // F0
  EXPECT_EQ(push("Ł"), "");  // 9F
  EXPECT_EQ(push("ĺ"), "");  // 98
  EXPECT_EQ(push("Ģ"), "😀");
  EXPECT_EQ(push("ð"), "");
  EXPECT_EQ(push("a"), "\uFFFDa");  // the character will never come
  EXPECT_EQ(push("Ã"), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(push("a"), "a");
}

TEST(StreamDecoder, RandomIdsEqualDecodeToo) {
  const Tokenizer tokenizer = small_tokenizer("llama3");
  StreamDecoder decoder(tokenizer, true);
  std::vector<int32_t> ids;
  std::string all;
  uint32_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 1664525u + 1013904223u;
    // Mostly the 256 bytes themselves, so that characters break everywhere.
    ids.push_back(static_cast<int32_t>((state >> 8) % (i % 8 == 0 ? 1100u : 256u)) - 1);
    const std::string piece = decoder.push(ids.back());
    ASSERT_TRUE(valid_utf8(piece));
    all += piece;
  }
  EXPECT_EQ(all + decoder.finish(), tokenizer.decode(ids, true));
}

}  // namespace
}  // namespace nereus::text
