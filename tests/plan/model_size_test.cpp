#include "nereus/plan/model_size.h"

#include <gtest/gtest.h>

#include "nereus/spec/tensor_table.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

TEST(ModelSize, ParametersOfPublishedModels) {
  EXPECT_EQ(layer_size(llama_8b()).products + layer_size(llama_8b()).norms, 218'112'000);
  EXPECT_EQ(layer_size(llama_70b()).products + layer_size(llama_70b()).norms, 855'654'400);
  EXPECT_EQ(parameters({Role::actor, llama_8b(), 0}), 8'030'261'248);
  EXPECT_EQ(parameters({Role::actor, llama_70b(), 0}), 70'553'706'496);
}

TEST(ModelSize, AgreesWithTheTableOfTensors) {
  for (const spec::ModelConfig& config : {llama_8b(), llama_70b(), qwen_7b(), qwen_half_b()}) {
    double all = 0;
    for (const spec::TensorSpec& tensor : spec::tensor_table(config))
      all += static_cast<double>(tensor.elements());
    EXPECT_EQ(parameters({Role::actor, config, 0}), all);
  }
}

TEST(ModelSize, ScoringModelsHaveOneValueForAHead) {
  const double head = 128256.0 * 4096;
  EXPECT_EQ(parameters({Role::critic, llama_8b(), 0}), 8'030'261'248 - head + 4096);
  EXPECT_EQ(parameters({Role::reward, llama_8b(), 0}), parameters({Role::critic, llama_8b(), 0}));
}

TEST(ModelSize, RanksOfATensorAxisHoldTheirPartAndTheNorms) {
  const Model model{Role::actor, llama_8b(), 0};
  const RankSize rank = rank_size(model, {1, 1, 8}, 0);
  const double norms = 32 * 2 * 4096 + 4096;
  EXPECT_EQ(rank.weights, (parameters(model) - norms) / 8 + norms);
  EXPECT_EQ(rank.head, 128256.0 * 4096 / 8);
}

TEST(ModelSize, StagesOfAPipelineHaveRealLayerCounts) {
  spec::ModelConfig config = llama_8b();
  config.layers = 33;
  const Model model{Role::actor, config, 0};
  const double layer = 218'112'000, vocabulary = 128256.0 * 4096;
  EXPECT_EQ(rank_size(model, {1, 4, 1}, 0).weights, 9 * layer + vocabulary);
  EXPECT_EQ(rank_size(model, {1, 4, 1}, 1).weights, 8 * layer);
  EXPECT_EQ(rank_size(model, {1, 4, 1}, 3).weights, 8 * layer + 4096 + vocabulary);
}

TEST(ModelSize, ATiedHeadIsHeldByBothEndsOfAPipeline) {
  const Model model{Role::actor, qwen_half_b(), 0};
  const double vocabulary = 151936.0 * 896;
  const double ends = rank_size(model, {1, 2, 1}, 0).weights + rank_size(model, {1, 2, 1}, 1).weights;
  EXPECT_EQ(ends, parameters(model) + vocabulary);
}

TEST(ModelSize, AdapterOnAllLinearLayers) {
  EXPECT_NEAR(adapter_parameters_per_rank(qwen_half_b()), 0.55e6, 0.005e6);
  const Model model{Role::actor, qwen_half_b(), 16};
  EXPECT_EQ(rank_size(model, {1, 1, 1}, 0).adapter, 16 * adapter_parameters_per_rank(qwen_half_b()));
}

TEST(ModelSize, BytesOfATokenAndLayer) {
  EXPECT_EQ(activation_bytes(llama_8b(), 2), 139'264);
  EXPECT_EQ(activation_bytes(llama_70b(), 2), 274'432);
  EXPECT_EQ(activation_bytes(qwen_7b(), 2), 158'720);
}

TEST(ModelSize, KvBytesOfAToken) {
  EXPECT_EQ(kv_bytes(llama_8b(), 2), 131'072);
  EXPECT_EQ(kv_bytes(llama_70b(), 2), 327'680);
  EXPECT_EQ(kv_bytes(qwen_7b(), 2), 57'344);
  EXPECT_EQ(kv_bytes(llama_8b(), {1, 1, 4}, 2), 131'072 / 4);
  // Eight heads on sixteen ranks: each head is held twice.
  EXPECT_EQ(kv_bytes(llama_8b(), {1, 1, 16}, 2), 131'072 / 8);
  EXPECT_EQ(kv_bytes(llama_8b(), {1, 2, 1}, 2), 131'072 / 2);
}

TEST(ModelSize, ForwardFlops) {
  const Model model{Role::actor, llama_8b(), 0};
  const RankSize size = rank_size(model, {}, 0);
  // 2 N tokens + 2 s^2 a d L.
  const double tokens = 4096, squares = tokens * tokens;
  EXPECT_EQ(forward_flops(model.config, size, 1, tokens, squares, tokens),
            2 * size.products * tokens + 2 * squares * 4096 * 32);
  EXPECT_NEAR(size.products, 7.504e9, 0.001e9);
}

}  // namespace
}  // namespace nereus::plan
