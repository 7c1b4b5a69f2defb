#include "nereus/plan/known_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/plan/model_size.h"
#include "nereus/spec/tensor_table.h"

namespace nereus::plan {
namespace {

/// By the table of tensors, with the biases that Qwen2's q, k and v have.
int64_t count(const spec::ModelConfig& config) {
  int64_t total = 0;
  for (const auto& tensor : spec::tensor_table(config)) total += tensor.elements();
  const int64_t biases = (config.heads + 2 * config.kv_heads) * config.head_dim * config.layers;
  return config.attention_bias ? total + biases : total;
}

// The numbers of parameters that the models' own pages and files give.
TEST(KnownModels, ParametersAreExact) {
  struct Case {
    const char* name;
    int64_t parameters;
  };
  const Case cases[] = {
      {"llama-3-8b", 8'030'261'248},     {"llama-3-70b", 70'553'706'496}, {"llama-3.1-8b", 8'030'261'248},
      {"llama-3.1-70b", 70'553'706'496}, {"qwen2.5-0.5b", 494'032'768},   {"qwen2.5-1.5b", 1'543'714'304},
      {"qwen2.5-3b", 3'085'938'688},     {"qwen2.5-7b", 7'615'616'512},   {"qwen2.5-14b", 14'770'033'664},
      {"qwen2.5-32b", 32'763'876'352},   {"qwen2.5-72b", 72'706'203'648}, {"smollm2-135m", 134'515'008},
  };
  EXPECT_EQ(known_model_names().size(), std::size(cases));
  for (const auto& c : cases) {
    const auto config = known_model(c.name);
    ASSERT_TRUE(config) << c.name;
    EXPECT_EQ(count(*config), c.parameters) << c.name;
    EXPECT_TRUE(spec::check_config(*config, c.name)) << c.name;
    EXPECT_EQ(config->heads * config->head_dim, config->hidden) << c.name;
    // The planner leaves biases out: under two in ten thousand.
    EXPECT_NEAR(parameters({Role::actor, *config, 0}), static_cast<double>(c.parameters),
                2e-4 * static_cast<double>(c.parameters))
        << c.name;
  }
  EXPECT_FALSE(known_model("llama-3-8"));
  EXPECT_FALSE(known_model(""));
}

TEST(KnownModels, Llama31StretchesItsPositions) {
  EXPECT_FALSE(known_model("llama-3-8b")->llama3_rope);
  EXPECT_TRUE(known_model("llama-3.1-8b")->llama3_rope);
  EXPECT_EQ(known_model("llama-3.1-8b")->rope_scaling.factor, 8);
}

}  // namespace
}  // namespace nereus::plan
