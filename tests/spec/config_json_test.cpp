#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/spec/model_config.h"

namespace nereus::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Json good() {
  return Json::parse(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 100,
      "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "max_position_embeddings": 64})");
}

Result<ModelConfig> with(const char* changes) {
  Json json = good();
  json.update(Json::parse(changes));
  return config_from_json(json, "config.json");
}

TEST(ConfigFromJson, SizesAndTransformersDefaults) {
  const auto config = value_or_throw(config_from_json(good(), "config.json"));
  EXPECT_EQ(config.family, "llama");
  EXPECT_EQ(config.vocab, 100);
  EXPECT_EQ(config.hidden, 16);
  EXPECT_EQ(config.intermediate, 20);
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 4);
  EXPECT_EQ(config.context, 64);
  EXPECT_EQ(config.norm_eps, 1e-6);
  EXPECT_EQ(config.rope_theta, 10000);
  EXPECT_FALSE(config.llama3_rope);
  EXPECT_FALSE(config.tied);
  EXPECT_EQ(config.bos_id, 1);
  EXPECT_THAT(config.eos_ids, ElementsAre(2));
}

TEST(ConfigFromJson, Variants) {
  EXPECT_EQ(with(R"({"head_dim": 8})")->head_dim, 8);
  EXPECT_EQ(with(R"({"head_dim": null, "hidden_size": 32})")->head_dim, 8);
  EXPECT_EQ(with(R"({"head_dim": 8, "num_key_value_heads": null})")->kv_heads, 4);
  EXPECT_TRUE(with(R"({"head_dim": 8, "tie_word_embeddings": true})")->tied);
  EXPECT_THAT(with(R"({"head_dim": 8, "eos_token_id": [7, 9]})")->eos_ids, ElementsAre(7, 9));
  EXPECT_THAT(with(R"({"head_dim": 8, "eos_token_id": 5})")->eos_ids, ElementsAre(5));
}

// Transformers 4 has rope_theta and rope_scaling beside the sizes, 5 has both in rope_parameters.
TEST(ConfigFromJson, BothPlacesOfRope) {
  EXPECT_EQ(with(R"({"head_dim": 8, "rope_theta": 5000.0})")->rope_theta, 5000);
  EXPECT_EQ(with(R"({"head_dim": 8, "rope_parameters": {"rope_theta": 6000.0, "rope_type": "default"}})")
                ->rope_theta,
            6000);
  for (
      const char* text :
      {R"({"head_dim": 8, "rope_theta": 5e5, "rope_scaling": {"type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})",
       R"({"head_dim": 8, "rope_parameters": {"rope_theta": 5e5, "rope_type": "llama3", "factor": 32.0,
            "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})"}) {
    const auto config = value_or_throw(with(text));
    EXPECT_TRUE(config.llama3_rope);
    EXPECT_EQ(config.rope_theta, 5e5);
    EXPECT_EQ(config.rope_scaling.factor, 32);
    EXPECT_EQ(config.rope_scaling.high_freq_factor, 4);
    EXPECT_EQ(config.rope_scaling.original_context, 8192);
  }
}

TEST(ConfigFromJson, Bad) {
  struct Case {
    const char* changes;
    const char* message;
  };
  const Case cases[] = {
      {R"({"model_type": "qwen2"})", "key 'model_type': family 'qwen2' is not supported; supported: llama"},
      {R"({"model_type": null})", "family '' is not supported"},
      {R"({"model_type": 3})", "key 'model_type': expected a string, found 3"},
      {R"({"architectures": ["LlamaForSequenceClassification"]})",
       "key 'architectures': \"LlamaForSequenceClassification\" is not supported; expected "
       "\"LlamaForCausalLM\""},
      {R"({"vocab_size": null})", "key 'vocab_size': missing; expected an integer from 1"},
      {R"({"hidden_size": 0})", "key 'hidden_size': expected an integer from 1 to 4194304, found 0"},
      {R"({"hidden_size": 1e12})", "key 'hidden_size': expected an integer"},
      {R"({"num_hidden_layers": 1000000000})", "key 'num_hidden_layers': expected an integer from 1 to 4096"},
      {R"({"num_attention_heads": -4})", "key 'num_attention_heads'"},
      {R"({"num_attention_heads": 18446744073709551615})", "found 18446744073709551615"},
      {R"({"intermediate_size": "20"})",
       "key 'intermediate_size': expected an integer from 1 to 4194304, found \"20\""},
      {R"({"hidden_size": 13})",
       "key 'hidden_size': 13 is no multiple of the 4 heads, and head_dim is not given"},
      {R"({"head_dim": 5})", "head size 5 is odd"},
      {R"({"head_dim": 8, "num_key_value_heads": 3})", "4 query heads cannot be shared by 3"},
      {R"({"head_dim": 8, "attention_bias": true})", "key 'attention_bias': biases are not supported"},
      {R"({"head_dim": 8, "mlp_bias": true})", "key 'mlp_bias': biases are not supported"},
      {R"({"head_dim": 8, "hidden_act": "gelu"})",
       "key 'hidden_act': 'gelu' is not supported; expected 'silu'"},
      {R"({"head_dim": 8, "rms_norm_eps": "tiny"})",
       "key 'rms_norm_eps': expected a number above 0, found \"tiny\""},
      {R"({"head_dim": 8, "rope_theta": -1})", "key 'rope_theta': expected a number above 0"},
      {R"({"head_dim": 8, "tie_word_embeddings": 1})",
       "key 'tie_word_embeddings': expected true or false, found 1"},
      {R"({"head_dim": 8, "eos_token_id": "</s>"})",
       "key 'eos_token_id': expected token ids, found \"</s>\""},
      {R"({"head_dim": 8, "eos_token_id": [1, -1]})", "key 'eos_token_id': expected token ids, found -1"},
      {R"({"head_dim": 8, "eos_token_id": 100})", "end-of-sequence id 100 is outside the vocabulary of 100"},
      {R"({"head_dim": 8, "quantization_config": {"bits": 4}})",
       "key 'quantization_config': quantised Hugging Face folders"},
      {R"({"head_dim": 8, "partial_rotary_factor": 0.5})", "key 'partial_rotary_factor'"},
      {R"({"head_dim": 8, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}})",
       "config.json: rope_scaling: key 'rope_type': 'yarn' is not supported; expected 'default' or 'llama3'"},
      {R"({"head_dim": 8, "rope_scaling": {"type": "linear", "factor": 4.0}})", "'linear' is not supported"},
      {R"({"head_dim": 8, "rope_parameters": {"rope_type": "llama3", "factor": 8}})",
       "rope_parameters: key 'low_freq_factor': missing"},
      {R"({"head_dim": 8, "rope_scaling": 3})", "config.json: rope_scaling: expected an object"},
  };
  for (const auto& [changes, message] : cases) {
    const auto config = with(changes);
    ASSERT_FALSE(config) << changes;
    EXPECT_THAT(config.error().message, StartsWith("config.json: ")) << changes;
    EXPECT_THAT(config.error().message, HasSubstr(message)) << changes;
  }
  EXPECT_THAT(config_from_json(Json::array(), "config.json").error().message,
              HasSubstr("expected a JSON object"));
}

// One of several end-of-sequence ids is honoured [trl 7039]: those of both files are kept.
TEST(GenerationConfig, Fault30_EveryEndOfSequenceIdIsKept) {
  auto config = value_or_throw(with(R"({"head_dim": 8, "eos_token_id": 7})"));
  ASSERT_TRUE(add_generation_config(config, Json::parse(R"({"eos_token_id": [8, 7, 9]})"), "g.json"));
  EXPECT_THAT(config.eos_ids, ElementsAre(7, 8, 9));
  ASSERT_TRUE(add_generation_config(config, Json::parse(R"({"eos_token_id": null, "top_k": 3})"), "g.json"));
  EXPECT_THAT(config.eos_ids, ElementsAre(7, 8, 9));
  EXPECT_THAT(
      add_generation_config(config, Json::parse(R"({"eos_token_id": 1000})"), "g.json").error().message,
      HasSubstr("g.json: end-of-sequence id 1000 is outside"));
  EXPECT_THAT(add_generation_config(config, Json(3), "g.json").error().message,
              HasSubstr("g.json: expected a JSON object"));
}

void expect_equal(const ModelConfig& a, const ModelConfig& b) {
  EXPECT_EQ(config_to_json(a), config_to_json(b));
  EXPECT_EQ(a.head_dim, b.head_dim);
  EXPECT_EQ(a.eos_ids, b.eos_ids);
  EXPECT_EQ(a.bos_id, b.bos_id);
  EXPECT_EQ(a.norm_eps, b.norm_eps);
  EXPECT_EQ(a.rope_theta, b.rope_theta);
  EXPECT_EQ(a.rope_frequencies(), b.rope_frequencies());
}

TEST(ConfigToJson, ReadBackEqual) {
  auto plain = value_or_throw(with(R"({"head_dim": 8, "rms_norm_eps": 1e-5, "tie_word_embeddings": true})"));
  auto several =
      value_or_throw(with(R"({"head_dim": 8, "eos_token_id": [3, 4], "bos_token_id": null, "rope_theta": 5e5,
      "rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
      "original_max_position_embeddings": 32}})"));
  auto none = value_or_throw(with(R"({"head_dim": 8})"));
  none.eos_ids.clear();
  for (const auto& config : {plain, several, none}) {
    const Json json = Json::parse(config_to_json(config).dump());
    expect_equal(value_or_throw(config_from_json(json, "t")), config);
  }
  EXPECT_EQ(several.bos_id, -1);
  EXPECT_THAT(value_or_throw(config_from_json(Json::parse(config_to_json(none).dump()), "t")).eos_ids,
              IsEmpty());
}

}  // namespace
}  // namespace nereus::spec
