#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>

#include "gguf_bytes.h"
#include "golden_cases.h"
#include "nereus/text/tokenizer.h"

namespace nereus::text {
namespace {

using Ids = std::vector<int32_t>;

/// Texts of an .inp file, and for each the ids of the .out file's line.
std::vector<std::pair<std::string, Ids>> vocabulary_cases(const std::string& path) {
  const std::string input = read_text(path + ".inp"), separator = "\n__ggml_vocab_test__\n";
  std::istringstream output(read_text(path + ".out"));
  std::vector<std::pair<std::string, Ids>> out;
  std::string line;
  for (size_t begin = 0; begin < input.size() && std::getline(output, line);) {
    const size_t end = std::min(input.find(separator, begin), input.size());
    std::istringstream numbers(line);
    out.push_back({input.substr(begin, end - begin), {std::istream_iterator<int32_t>(numbers), {}}});
    begin = end + separator.size();
  }
  return out;
}

class RealVocabulary : public testing::TestWithParam<std::string> {};

TEST_P(RealVocabulary, EqualsHuggingFace) {
  const std::string path =
      std::string(NEREUS_SOURCE_DIR) + "/../shared/data/tokenizers/ggml-vocab-" + GetParam() + ".gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
  const auto tokenizer = Tokenizer::load(path);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto cases = vocabulary_cases(path);
  ASSERT_GT(cases.size(), 40u);
  for (const auto& [text, ids] : cases) {
    EXPECT_EQ(tokenizer->encode(text, false), ids) << text;
    EXPECT_EQ(tokenizer->decode(ids, false), text);
  }
}

INSTANTIATE_TEST_SUITE_P(TokenizerGguf, RealVocabulary,
                         testing::Values("llama-bpe", "gpt-2", "qwen2", "deepseek-llm"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(TokenizerGguf, RefusesSentencePiece) {
  const std::string path =
      std::string(NEREUS_SOURCE_DIR) + "/../shared/data/tokenizers/ggml-vocab-llama-spm.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing " << path;
  const auto tokenizer = Tokenizer::load(path);
  ASSERT_FALSE(tokenizer);
  EXPECT_THAT(tokenizer.error().message,
              testing::HasSubstr("tokenizer.ggml.model is \"llama\"; expected \"gpt2\" (byte-level BPE)"));
}

const std::vector<std::string> kTokens = {"a", "b", "ab", "<|im_end|>", "<|eot_id|>", "<tool>"};

/// A small file of the given `pre`; tokens 3 and 4 are control tokens, 5 a user's.
GgufBytes base(const std::string& pre) {
  GgufBytes bytes;
  bytes.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", pre);
  bytes.texts("tokenizer.ggml.tokens", kTokens).texts("tokenizer.ggml.merges", {"a b"});
  return bytes.numbers("tokenizer.ggml.token_type", {1, 1, 1, 3, 3, 4});
}

Result<Tokenizer> read(const GgufBytes& bytes) {
  return Tokenizer::from_gguf(value_or_throw(bytes.file()));
}

TEST(TokenizerGguf, ReadsKeys) {
  auto bytes = base("gpt-2");
  bytes.number("tokenizer.ggml.bos_token_id", 3).number("tokenizer.ggml.eos_token_id", 2);
  bytes.text("tokenizer.chat_template", "{{ x }}").flag("tokenizer.ggml.add_bos_token", true);
  const Tokenizer tokenizer = value_or_throw(read(bytes));
  EXPECT_EQ(tokenizer.encode("ab<tool>", true), (Ids{3, 2, 5}));
  EXPECT_EQ(tokenizer.decode(Ids{3, 2, 5}, true), "ab<tool>");
  EXPECT_EQ(tokenizer.bos(), 3);
  EXPECT_EQ(tokenizer.bos_text(), "<|im_end|>");
  EXPECT_EQ(tokenizer.chat_template(), "{{ x }}");
}

// One of several end-of-sequence ids is honoured, clipped_ratio near 1: all are [trl 7039].
TEST(TokenizerGguf, Fault30_KnowsEveryEnd) {
  auto bytes = base("llama-bpe");
  bytes.number("tokenizer.ggml.eos_token_id", 2).number("tokenizer.ggml.eom_token_id", 1);
  EXPECT_EQ(read(bytes)->eos(), (Ids{2, 1, 4, 3}));
}

TEST(TokenizerGguf, LlamaThreeBeginsEveryTextUnlessTheFileSaysNo) {
  auto bytes = base("llama-bpe");
  bytes.number("tokenizer.ggml.bos_token_id", 3);
  EXPECT_EQ(read(bytes)->encode("a", true), (Ids{3, 0}));
  EXPECT_EQ(read(bytes)->encode("a", false), Ids{0});
  EXPECT_EQ(read(bytes.flag("tokenizer.ggml.add_bos_token", false))->encode("a", true), Ids{0});
}

TEST(TokenizerGguf, SaysWhatIsWrong) {
  const std::vector<std::string> merges = {"a b"};
  const auto fresh = [] { return GgufBytes().text("tokenizer.ggml.model", "gpt2"); };
  const std::pair<GgufBytes, std::string> cases[] = {
      {GgufBytes(), "m.gguf.tokenizer.ggml.model is missing"},
      {GgufBytes().number("tokenizer.ggml.model", 1), "tokenizer.ggml.model: expected a string"},
      {GgufBytes().text("tokenizer.ggml.model", "bert"),
       "tokenizer.ggml.model is \"bert\"; expected \"gpt2\""},
      {fresh(), "tokenizer.ggml.tokens is missing"},
      {fresh().numbers("tokenizer.ggml.tokens", {1}), "tokenizer.ggml.tokens[0]: expected a string"},
      {fresh().texts("tokenizer.ggml.tokens", kTokens), "tokenizer.ggml.merges is missing"},
      {fresh().texts("tokenizer.ggml.tokens", kTokens).numbers("tokenizer.ggml.merges", {1}),
       "tokenizer.ggml.merges: expected strings"},
      {fresh().texts("tokenizer.ggml.tokens", kTokens).texts("tokenizer.ggml.merges", {"a c"}),
       "tokenizer.ggml.merges[0]: \"a c\" names \"c\", which the vocabulary lacks"},
      {fresh().texts("tokenizer.ggml.tokens", kTokens).texts("tokenizer.ggml.merges", {" b"}),
       "expected two tokens"},
      {base("tekken"), "tokenizer.ggml.pre is \"tekken\"; expected smollm"},
      {base("gpt-2").number("tokenizer.ggml.eos_token_id", 6), "eos_token_id is 6, and there are 6 tokens"},
      {base("gpt-2").text("tokenizer.ggml.bos_token_id", "x"), "bos_token_id: expected a token id"},
      {base("gpt-2").text("tokenizer.ggml.add_bos_token", "x"), "add_bos_token: expected true or false"},
      {fresh()
           .texts("tokenizer.ggml.tokens", kTokens)
           .texts("tokenizer.ggml.merges", merges)
           .numbers("tokenizer.ggml.token_type", {1, 2}),
       "tokenizer.ggml.token_type: expected 6 values, as many as tokens"},
  };
  for (const auto& [bytes, message] : cases) {
    const auto tokenizer = read(bytes);
    ASSERT_FALSE(tokenizer) << message;
    EXPECT_THAT(tokenizer.error().message, testing::StartsWith("m.gguf"));
    EXPECT_THAT(tokenizer.error().message, testing::HasSubstr(message));
  }
}

}  // namespace
}  // namespace nereus::text
