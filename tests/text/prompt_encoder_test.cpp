#include "nereus/text/prompt_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/formats/scratch_folder.h"
#include "tests/text/tiny_tokenizer.h"

namespace nereus::text {
namespace {

using ::testing::HasSubstr;

class Encoder : public ::testing::Test {
 protected:
  void SetUp() override {
    write_tiny_tokenizer(scratch_.path());
    tokenizer_.emplace(value_or_throw(Tokenizer::load(scratch_.path())));
    encoder_.emplace(value_or_throw(PromptEncoder::make(*tokenizer_, "")));
  }

  test::ScratchFolder scratch_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<PromptEncoder> encoder_;
};

OrderedJson user(const std::string& text) {
  return OrderedJson::array({{{"role", "user"}, {"content", text}}});
}

TEST_F(Encoder, ChatsAreRenderedByTheTemplate) {
  EXPECT_EQ(*encoder_->render(user("hi"), "x"), "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  const auto with_system = value_or_throw(PromptEncoder::make(*tokenizer_, "Be brief."));
  EXPECT_EQ(
      *with_system.render(user("hi"), "x"),
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  const OrderedJson own = {{{"role", "system"}, {"content", "mine"}}, {{"role", "user"}, {"content", "hi"}}};
  EXPECT_EQ(with_system.render(own, "x")->find("Be brief."), std::string::npos);
}

// Special tokens of the prompt are stripped [trl 3644]: here they stay.
TEST_F(Encoder, Fault27_SpecialTokensOfThePromptAreKept) {
  const auto tokens = *encoder_->encode(user("hi"), "x");
  EXPECT_EQ(tokens.front(), *tokenizer_->id("<|im_start|>"));
  EXPECT_EQ(std::ranges::count(tokens, *tokenizer_->id("<|im_start|>")), 2);
  EXPECT_EQ(std::ranges::count(tokens, *tokenizer_->id("<|im_end|>")), 1);
  EXPECT_EQ(encoder_->encode("a<|im_end|>b", "x")->at(1), *tokenizer_->id("<|im_end|>"));
}

TEST_F(Encoder, WhatCannotBeEncoded) {
  EXPECT_THAT(encoder_->encode("", "d.jsonl:3").error().message, HasSubstr("d.jsonl:3: the prompt is empty"));
  std::filesystem::remove(scratch_ / "tokenizer_config.json");
  const auto plain = value_or_throw(PromptEncoder::make(value_or_throw(Tokenizer::load(scratch_.path()))));
  EXPECT_THAT(plain.encode(user("hi"), "d.jsonl:1").error().message, HasSubstr("no chat template"));
  EXPECT_TRUE(plain.encode("hi", "d.jsonl:1"));
}

}  // namespace
}  // namespace nereus::text
