#include "nereus/text/gguf_pre_tokenizer.h"

#include <gmock/gmock.h>

namespace nereus::text {
namespace {

using Strings = std::vector<std::string>;

Strings pieces(const std::string& name, std::string text) {
  const auto pre = value_or_throw(gguf_pre_tokenizer(name, "tokenizer.ggml.pre"));
  Strings out;
  const auto spans = pre.pre_tokenizer.split(text);
  for (const Span& span : spans) out.push_back(text.substr(span.begin, span.end - span.begin));
  return out;
}

TEST(GgufPreTokenizer, CutsAsItsModelDoes) {
  struct Case {
    std::string name, text;
    Strings expected;
  };
  const Case cases[] = {
      {"smollm", "It's  1234!\n\n x", {"It", "'s", "  ", "1", "2", "3", "4", "!", "\n\n", " x"}},
      {"starcoder", "a 12", {"a", " ", "1", "2"}},
      {"gpt-2", "It'S  1234!\n\n x", {"It", "'", "S", " ", " 1234", "!", "\n\n", " x"}},
      {"llama-bpe", "It'S  1234!\n\n x", {"It", "'S", " ", " ", "123", "4", "!\n\n", " x"}},
      {"llama3", "(word)", {"(word", ")"}},
      {"qwen2", "It'S 1234!\n\n x", {"It", "'S", " ", "1", "2", "3", "4", "!\n\n", " x"}},
      {"deepseek-llm", "Hi, 世界 12\n", {"Hi", ",", " ", "世界", " ", "1", "2", "\n"}},
      {"default", "a+b 12345", {"a", "+", "b", " ", "123", "45"}},
  };
  for (const Case& c : cases) EXPECT_EQ(pieces(c.name, c.text), c.expected) << c.name << ": " << c.text;
}

TEST(GgufPreTokenizer, OnlyQwenNormalises) {
  for (const std::string name : {"smollm", "gpt-2", "llama-bpe", "qwen2", "deepseek-llm", "default"}) {
    EXPECT_EQ(gguf_pre_tokenizer(name, "pre")->normalizer.empty(), name != "qwen2") << name;
  }
}

TEST(GgufPreTokenizer, RefusesUnknownNames) {
  const auto pre = gguf_pre_tokenizer("viking", "m.gguf: tokenizer.ggml.pre");
  ASSERT_FALSE(pre);
  EXPECT_THAT(pre.error().message,
              testing::StartsWith("m.gguf: tokenizer.ggml.pre is \"viking\"; expected smollm,"));
}

}  // namespace
}  // namespace nereus::text
