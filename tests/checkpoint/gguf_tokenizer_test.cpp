#include "nereus/checkpoint/gguf_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/golden.h"
#include "tests/formats/gguf_builder.h"

namespace nereus::checkpoint {
namespace {

using test::GgufBuilder;
using testing::HasSubstr;

formats::GgufFile parse(const GgufBuilder& builder) {
  return value_or_throw(formats::GgufFile::parse(test::mapped(builder.build()), "t.gguf"));
}

GgufBuilder tokenizer(const char* pre) {
  return GgufBuilder()
      .text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", pre)
      .texts("tokenizer.ggml.tokens", {"<s>", "a", "b", "ab", "<tool>"})
      .i32s("tokenizer.ggml.token_type", {3, 1, 1, 1, 4})
      .texts("tokenizer.ggml.merges", {"a b"})
      .u32("tokenizer.ggml.bos_token_id", 0);
}

TEST(TokenizerJson, Parts) {
  const auto json = value_or_throw(tokenizer_json(parse(tokenizer("gpt-2"))));
  EXPECT_EQ(json["model"]["vocab"].dump(), R"({"<s>":0,"a":1,"b":2,"ab":3,"<tool>":4})");
  EXPECT_EQ(json["model"]["merges"].dump(), R"([["a","b"]])");
  EXPECT_EQ(json["model"]["ignore_merges"], false);
  ASSERT_EQ(json["added_tokens"].size(), 2U);
  EXPECT_EQ(json["added_tokens"][0]["content"], "<s>");
  EXPECT_EQ(json["added_tokens"][0]["special"], true);
  EXPECT_EQ(json["added_tokens"][1]["id"], 4);
  EXPECT_EQ(json["added_tokens"][1]["special"], false);
  EXPECT_EQ(json["pre_tokenizer"]["type"], "ByteLevel");
  EXPECT_EQ(json["post_processor"]["type"], "ByteLevel");
}

TEST(TokenizerJson, EachNamedPreTokenizer) {
  EXPECT_EQ(
      value_or_throw(tokenizer_json(parse(tokenizer("smollm"))))["pre_tokenizer"]["pretokenizers"][0]["type"],
      "Digits");
  EXPECT_EQ(
      value_or_throw(tokenizer_json(parse(tokenizer("qwen2"))))["pre_tokenizer"]["pretokenizers"][0]["type"],
      "Split");
  const auto llama = value_or_throw(tokenizer_json(parse(tokenizer("llama-bpe"))));
  EXPECT_EQ(llama["model"]["ignore_merges"], true);
  EXPECT_EQ(llama["post_processor"]["single"][0]["SpecialToken"]["id"], "<s>");
}

TEST(TokenizerJson, BosAsTheFileSays) {
  const auto off = value_or_throw(
      tokenizer_json(parse(tokenizer("llama-bpe").flag("tokenizer.ggml.add_bos_token", false))));
  EXPECT_EQ(off["post_processor"]["type"], "ByteLevel");
  const auto on =
      value_or_throw(tokenizer_json(parse(tokenizer("gpt-2").flag("tokenizer.ggml.add_bos_token", true))));
  EXPECT_EQ(on["post_processor"]["special_tokens"]["<s>"]["ids"], OrderedJson::array({0}));
}

TEST(TokenizerConfigJson, SpecialTokensAndTemplate) {
  const auto source = value_or_throw(Source::open(test::golden("tiny.gguf")));
  const auto json = value_or_throw(tokenizer_config_json(*source.gguf(), source.config()));
  EXPECT_EQ(json["bos_token"], "<|im_start|>");
  EXPECT_EQ(json["eos_token"], "<|im_end|>");
  EXPECT_EQ(json["pad_token"], "<|im_end|>");
  EXPECT_EQ(json["unk_token"], "<|endoftext|>");
  EXPECT_EQ(json["model_max_length"], 128);
  EXPECT_THAT(json["chat_template"].get<std::string>(), HasSubstr("<|im_start|>{{ m['role'] }}"));
}

TEST(TokenizerJson, Bad) {
  struct Case {
    GgufBuilder builder;
    const char* message;
  };
  const auto begin = [] {
    return GgufBuilder().text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  };
  const Case cases[] = {
      {GgufBuilder(), "key 'tokenizer.ggml.model': expected a string"},
      {GgufBuilder().text("tokenizer.ggml.model", "llama"),
       "'llama' is not supported; expected gpt2 (byte-level BPE)"},
      {begin(), "key 'tokenizer.ggml.tokens': expected an array"},
      {begin().i32s("tokenizer.ggml.tokens", {1}), "key 'tokenizer.ggml.tokens': expected strings"},
      {tokenizer("falcon"), "key 'tokenizer.ggml.pre': 'falcon' is not supported; expected smollm"},
      {begin().texts("tokenizer.ggml.tokens", {"a"}), "key 'tokenizer.ggml.token_type': expected an array"},
      {begin().texts("tokenizer.ggml.tokens", {"a"}).i32s("tokenizer.ggml.token_type", {}),
       "0 values for 1 tokens"},
      {begin().texts("tokenizer.ggml.tokens", {"a"}).i32s("tokenizer.ggml.token_type", {1}),
       "key 'tokenizer.ggml.merges': expected an array"},
      {begin()
           .texts("tokenizer.ggml.tokens", {"a"})
           .i32s("tokenizer.ggml.token_type", {1})
           .texts("tokenizer.ggml.merges", {"ab"}),
       "expected two tokens with a space between, found 'ab'"},
      {begin()
           .texts("tokenizer.ggml.tokens", {"a"})
           .i32s("tokenizer.ggml.token_type", {1})
           .texts("tokenizer.ggml.merges", {})
           .u32("tokenizer.ggml.bos_token_id", 9),
       "key 'tokenizer.ggml.bos_token_id': expected the id of one of 1 tokens"},
  };
  for (const auto& [builder, message] : cases) {
    const auto json = tokenizer_json(parse(builder));
    ASSERT_FALSE(json) << message;
    EXPECT_THAT(json.error().message, HasSubstr(std::string("t.gguf: ")));
    EXPECT_THAT(json.error().message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace nereus::checkpoint
