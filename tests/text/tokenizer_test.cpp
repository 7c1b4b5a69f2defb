#include "nereus/text/tokenizer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "golden_cases.h"
#include "nereus/text/utf8.h"

namespace nereus::text {
namespace {

using Ids = std::vector<int32_t>;

class SmolLm2 : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(smollm2_path())) GTEST_SKIP() << "missing " << smollm2_path();
  }
};

void expect_golden(const Tokenizer& tokenizer, const std::vector<GoldenCase>& cases) {
  for (const GoldenCase& c : cases) {
    EXPECT_EQ(tokenizer.encode(c.text, false), c.ids) << c.text;
    EXPECT_EQ(tokenizer.encode(c.text, true), c.full) << c.text;
    EXPECT_EQ(tokenizer.decode(c.ids, false), c.decoded) << c.text;
    EXPECT_EQ(tokenizer.decode(c.ids, true), c.plain) << c.text;
  }
}

class Styles : public testing::TestWithParam<std::string> {};

TEST_P(Styles, EqualsHuggingFace) {
  const auto cases = golden_cases(GetParam());
  ASSERT_GT(cases.size(), 300u);
  expect_golden(small_tokenizer(GetParam()), cases);
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, Styles, testing::Values("smollm", "llama3", "qwen2"),
                         [](const auto& test) { return test.param; });

TEST_F(SmolLm2, FromGgufEqualsHuggingFaceOn2000Strings) {
  const auto tokenizer = Tokenizer::load(smollm2_path());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto cases = golden_cases("smollm2");
  ASSERT_EQ(cases.size(), 2000u);
  expect_golden(*tokenizer, cases);
}

/// The tokenizer.json that SmolLM2 comes with, put together from the vocabulary in its GGUF file.
std::string smollm2_json(const Json& metadata) {
  Json vocab = Json::object(), added = Json::array();
  const Json& tokens = metadata["tokenizer.ggml.tokens"];
  for (size_t i = 0; i < tokens.size(); ++i) {
    vocab[tokens[i].get<std::string>()] = i;
    if (metadata["tokenizer.ggml.token_type"][i] == 3) {
      added.push_back({{"id", i}, {"content", tokens[i]}, {"special", true}, {"normalized", false}});
    }
  }
  const Json digits = {{"type", "Digits"}, {"individual_digits", true}};
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  const Json model = {{"type", "BPE"}, {"vocab", vocab}, {"merges", metadata["tokenizer.ggml.merges"]}};
  const Json steps = {{"type", "Sequence"}, {"pretokenizers", Json::array({digits, bytes})}};
  return Json({{"added_tokens", added}, {"pre_tokenizer", steps}, {"model", model}}).dump();
}

TEST_F(SmolLm2, FromJsonEqualsHuggingFaceOn2000Strings) {
  const auto file = value_or_throw(formats::GgufFile::open(smollm2_path()));
  const auto tokenizer = Tokenizer::from_json(smollm2_json(file.metadata()), "tokenizer.json");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  expect_golden(*tokenizer, golden_cases("smollm2"));
}

TEST_F(SmolLm2, NamesItsSpecialTokens) {
  const Tokenizer tokenizer = value_or_throw(Tokenizer::load(smollm2_path()));
  EXPECT_EQ(tokenizer.vocab_size(), 49152);
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_EQ(tokenizer.eos(), Ids{2});
  EXPECT_EQ(tokenizer.bos_text(), "<|im_start|>");
  EXPECT_EQ(tokenizer.eos_text(), "<|im_end|>");
  EXPECT_TRUE(tokenizer.special(0));
  EXPECT_FALSE(tokenizer.special(17));
  EXPECT_EQ(tokenizer.id("Ġworld"), 905);
  EXPECT_EQ(tokenizer.token(905), "Ġworld");
  EXPECT_EQ(tokenizer.bytes(905), " world");
  EXPECT_TRUE(tokenizer.chat_template().starts_with("{% for message in messages %}"));
}

TEST(Tokenizer, IdsOutsideTheVocabularyGiveNothing) {
  const Tokenizer tokenizer = small_tokenizer("smollm");
  for (const int32_t id : {-1, tokenizer.vocab_size(), 1 << 30}) {
    EXPECT_EQ(tokenizer.token(id), "");
    EXPECT_EQ(tokenizer.bytes(id), "");
    EXPECT_FALSE(tokenizer.special(id));
    EXPECT_EQ(tokenizer.decode(Ids{id}, false), "");
  }
  EXPECT_EQ(tokenizer.id("no such token"), std::nullopt);
}

// Decoding and encoding again changes ids: token ids in, token ids out [trl 5224].
TEST(Tokenizer, Fault26_SampledIdsAreNotThoseOfTheirText) {
  const Tokenizer tokenizer = small_tokenizer("smollm");
  const auto the = tokenizer.id("Ġthe"), space = tokenizer.id("Ġ"), t = tokenizer.id("t"),
             he = tokenizer.id("he");
  ASSERT_TRUE(the && space && t && he);
  const Ids sampled = {*space, *t, *he}, half = {*tokenizer.id("ð"), *tokenizer.id("Ł")};
  // One text, several sequences of ids; a character cut in half is lost in text. Whoever keeps ids keeps all,
  // so nothing here takes ids and gives ids.
  EXPECT_EQ(tokenizer.decode(sampled, false), tokenizer.decode(Ids{*the}, false));
  EXPECT_EQ(tokenizer.encode(tokenizer.decode(sampled, false), false), Ids{*the});
  EXPECT_EQ(tokenizer.decode(half, false), "\uFFFD");
  EXPECT_NE(tokenizer.encode(tokenizer.decode(half, false), false), half);
}

// Special tokens of the prompt are stripped [trl 3644].
TEST(Tokenizer, Fault27_SpecialTokensOfThePromptAreKept) {
  const Tokenizer tokenizer = small_tokenizer("smollm");
  const std::string prompt = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
  const Ids ids = tokenizer.encode(prompt, false);
  const int32_t begin = *tokenizer.id("<|im_start|>"), end = *tokenizer.id("<|im_end|>");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), begin), 2);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), end), 1);
  EXPECT_EQ(tokenizer.decode(ids, false), prompt);
  EXPECT_EQ(tokenizer.decode(ids, true), "user\nHi\nassistant\n");
}

TEST(Tokenizer, BytesThatAreNoUtf8CountAsReplacementCharacters) {
  const Tokenizer tokenizer = small_tokenizer("llama3");
  for (const std::string bytes :
       {"a\xFF", "\x80\x80 b", "\xED\xA0\x80", "x\xE2\x82", "\xF0\x9F<|im_end|>\xC3"}) {
    const Ids ids = tokenizer.encode(bytes, false);
    EXPECT_EQ(ids, tokenizer.encode(to_valid_utf8(bytes), false));
    EXPECT_EQ(tokenizer.decode(ids, false), to_valid_utf8(bytes));
  }
}

TEST(Tokenizer, AddedTokensStandForTheirOwnText) {
  // In GPT-2's alphabet "ö" is the byte F6. As an added token it is the letter.
  const std::string json = R"({"added_tokens": [{"id": 2, "content": "ö"}],
    "pre_tokenizer": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0, "ö": 1}, "merges": []}})";
  const Tokenizer tokenizer = value_or_throw(Tokenizer::from_json(json, "test"));
  EXPECT_EQ(tokenizer.encode("aö", false), (Ids{0, 2}));
  EXPECT_EQ(tokenizer.decode(Ids{0, 2}, false), "aö");
}

TEST(Tokenizer, LongRunsAreNotQuadratic) {
  const Tokenizer tokenizer = small_tokenizer("llama3");
  const auto start = std::chrono::steady_clock::now();
  for (const char c : {' ', 'a', '1', '\n', '!', '<'}) {
    const std::string run(1 << 18, c);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(run, false), false), run);
  }
  // Well under a second; the bound leaves room for sanitizers.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(Tokenizer, ServesSeveralThreads) {
  const Tokenizer tokenizer = small_tokenizer("qwen2");
  const auto cases = golden_cases("qwen2");
  std::vector<std::thread> threads;
  std::vector<size_t> wrong(4);
  for (size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      for (const GoldenCase& c : cases) wrong[i] += tokenizer.encode(c.text, false) != c.ids;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0u));
}

}  // namespace
}  // namespace nereus::text
