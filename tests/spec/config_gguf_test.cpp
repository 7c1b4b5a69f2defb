#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/spec/model_config.h"
#include "tests/formats/gguf_builder.h"

namespace nereus::spec {
namespace {

using test::GgufBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

GgufBuilder sizes() {
  return GgufBuilder()
      .u32("llama.context_length", 64)
      .u32("llama.embedding_length", 16)
      .u32("llama.feed_forward_length", 20)
      .u32("llama.attention.head_count", 4)
      .u32("llama.attention.head_count_kv", 2)
      .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
}

GgufBuilder good() {
  return sizes().text("general.architecture", "llama").u32("llama.block_count", 2);
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

Result<ModelConfig> read(const GgufBuilder& builder) {
  return config_from_gguf(value_or_throw(formats::GgufFile::parse(test::mapped(builder.build()), "t.gguf")));
}

TEST(ConfigFromGguf, Good) {
  const auto config = value_or_throw(
      read(good()
               .f32("llama.rope.freq_base", 100000)
               .u32("llama.rope.dimension_count", 4)
               .u32("tokenizer.ggml.bos_token_id", 1)
               .u32("tokenizer.ggml.eos_token_id", 2)
               .tensor("token_embd.weight", test::kTensorF32, {10, 16}, std::string(640, 'x'))));
  EXPECT_EQ(config.vocab, 10);
  EXPECT_EQ(config.hidden, 16);
  EXPECT_EQ(config.intermediate, 20);
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 4);
  EXPECT_EQ(config.context, 64);
  EXPECT_EQ(config.norm_eps, static_cast<double>(1e-5F));
  EXPECT_EQ(config.rope_theta, 100000);
  EXPECT_TRUE(config.tied);
  EXPECT_EQ(config.bos_id, 1);
  EXPECT_THAT(config.eos_ids, ElementsAre(2));
}

TEST(ConfigFromGguf, VocabularyFromTheTokensWithoutAnEmbedding) {
  EXPECT_EQ(read(good().texts("tokenizer.ggml.tokens", {"a", "b", "c"}))->vocab, 3);
  EXPECT_EQ(read(good().u32("llama.vocab_size", 7))->vocab, 7);
}

TEST(ConfigFromGguf, AnOutputTensorUntiesTheHead) {
  EXPECT_FALSE(read(good()
                        .u32("llama.vocab_size", 2)
                        .tensor("output.weight", test::kTensorF32, {2, 16}, std::string(128, 'x')))
                   ->tied);
}

TEST(ConfigFromGguf, HeadSizeOfItsOwn) {
  const auto config = read(good()
                               .u32("llama.vocab_size", 2)
                               .u32("llama.attention.key_length", 8)
                               .u32("llama.attention.value_length", 8));
  EXPECT_EQ(config->head_dim, 8);
}

// One of several end-of-sequence ids is honoured [trl 7039]: end of turn and of message count too.
TEST(ConfigFromGguf, Fault30_EveryEndOfSequenceIdIsKept) {
  const auto config = read(good()
                               .u32("llama.vocab_size", 10)
                               .u32("tokenizer.ggml.eos_token_id", 2)
                               .u32("tokenizer.ggml.eot_token_id", 5)
                               .u32("tokenizer.ggml.eom_token_id", 2));
  EXPECT_THAT(config->eos_ids, ElementsAre(2, 5));
}

/// A model with room for both short and long waves, and the divisors of its frequencies.
GgufBuilder with_divisors(const std::vector<float>& divisors) {
  return GgufBuilder()
      .text("general.architecture", "llama")
      .u32("llama.block_count", 1)
      .u32("llama.vocab_size", 2)
      .u32("llama.context_length", 131072)
      .u32("llama.embedding_length", 128)
      .u32("llama.feed_forward_length", 20)
      .u32("llama.attention.head_count", 1)
      .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
      .f32("llama.rope.freq_base", 500000)
      .tensor("rope_freqs.weight", test::kTensorF32, {static_cast<int64_t>(divisors.size())},
              floats(divisors));
}

std::vector<float> llama3_divisors(double factor) {
  ModelConfig config;
  config.head_dim = 128;
  config.rope_theta = 500000;
  const auto plain = config.rope_frequencies();
  config.llama3_rope = true;
  config.rope_scaling = {
      .factor = factor, .low_freq_factor = 1, .high_freq_factor = 4, .original_context = 8192};
  auto divisors = config.rope_frequencies();
  for (size_t i = 0; i < divisors.size(); ++i) divisors[i] = plain[i] / divisors[i];
  return divisors;
}

TEST(ConfigFromGguf, Llama3ScalingIsRecognisedByItsDivisors) {
  for (const double factor : {8.0, 32.0}) {
    const auto config = value_or_throw(read(with_divisors(llama3_divisors(factor))));
    EXPECT_TRUE(config.llama3_rope);
    EXPECT_EQ(config.rope_scaling.factor, factor);
    EXPECT_EQ(config.rope_scaling.original_context, 8192);
  }
  EXPECT_FALSE(read(with_divisors(std::vector<float>(64, 1)))->llama3_rope);
}

TEST(ConfigFromGguf, OtherDivisorsAreRefused) {
  auto divisors = llama3_divisors(8);
  divisors[30] *= 1.1F;
  EXPECT_THAT(read(with_divisors(divisors)).error().message,
              HasSubstr("tensor 'rope_freqs.weight': divisor"));
  EXPECT_THAT(read(with_divisors({1, 2})).error().message,
              HasSubstr("tensor 'rope_freqs.weight': expected F32 of shape [64], found F32 of shape [2]"));
}

TEST(ConfigFromGguf, Bad) {
  struct Case {
    GgufBuilder builder;
    std::string message;
  };
  const auto whole = [] { return good().u32("llama.vocab_size", 10); };
  const Case cases[] = {
      {GgufBuilder().text("general.architecture", "qwen2"),
       "key 'general.architecture': family 'qwen2' is not supported; supported: llama"},
      {GgufBuilder(), "family '' is not supported"},
      {sizes().text("general.architecture", "llama").u32("llama.vocab_size", 3),
       "key 'llama.block_count': missing; expected an integer from 1"},
      {good(), "key 'llama.vocab_size': missing"},
      {whole().u32("llama.rope.dimension_count", 2),
       "key 'llama.rope.dimension_count': 2 is not supported; expected the head size 4"},
      {whole().text("llama.rope.scaling.type", "yarn"),
       "key 'llama.rope.scaling.type': 'yarn' is not supported"},
      {whole().u32("llama.expert_count", 8), "key 'llama.expert_count': mixtures of experts"},
      {whole().text("llama.rope.freq_base", "10000"),
       "key 'llama.rope.freq_base': expected a number above 0"},
      {whole().u32("tokenizer.ggml.eos_token_id", 10),
       "end-of-sequence id 10 is outside the vocabulary of 10"},
  };
  for (const auto& [builder, message] : cases) {
    const auto config = read(builder);
    ASSERT_FALSE(config) << message;
    EXPECT_THAT(config.error().message, StartsWith("t.gguf: "));
    EXPECT_THAT(config.error().message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace nereus::spec
