#include "nereus/elastic/model_tensors.h"

#include <gtest/gtest.h>

#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

using plan::Role;

int64_t elements(const ModelTensors& model) {
  int64_t sum = 0;
  for (const ModelTensor& tensor : model.tensors) sum += tensor.spec.elements();
  return sum;
}

int32_t find(const ModelTensors& model, const std::string& name) {
  for (int32_t i = 0; i < model.count(); ++i) {
    if (model.tensors[static_cast<size_t>(i)].spec.name == name) return i;
  }
  ADD_FAILURE() << "no tensor " << name;
  return 0;
}

TEST(ModelTensors, SizesOfLlama) {
  EXPECT_EQ(elements(model_tensors({Role::actor, test::llama3_8b(), 0})), 8'030'261'248);
  // A critic has a head of one value.
  EXPECT_EQ(elements(model_tensors({Role::critic, test::llama3_8b(), 0})),
            8'030'261'248 - int64_t{128256} * 4096 + 4096);
}

TEST(ModelTensors, AdaptersUnderPeftsNames) {
  const auto model = model_tensors({Role::actor, test::small_model(2, 4, 2, 8, 11), 3});
  const auto& a =
      model.tensors[static_cast<size_t>(find(model, "model.layers.1.self_attn.o_proj.lora_A.weight"))];
  const auto& b =
      model.tensors[static_cast<size_t>(find(model, "model.layers.1.self_attn.o_proj.lora_B.weight"))];
  EXPECT_EQ(a.spec.shape, (std::vector<int64_t>{3, 8}));
  EXPECT_EQ(b.spec.shape, (std::vector<int64_t>{8, 3}));
  EXPECT_EQ(a.spec.shard, cluster::Shard::columns);
  EXPECT_EQ(b.spec.shard, cluster::Shard::replicated);
  EXPECT_TRUE(a.trained);
  EXPECT_FALSE(
      model.tensors[static_cast<size_t>(find(model, "model.layers.1.self_attn.o_proj.weight"))].trained);
  // The reference has none, whatever the rank says.
  EXPECT_EQ(model_tensors({Role::reference, test::small_model(2, 4, 2, 8, 11), 3}).count(), 21);
}

TEST(ModelTensors, StagesHoldTheirLayersAndTiedEmbeddingsBothEnds) {
  auto config = test::small_model(3, 2, 1, 4, 7);
  const auto untied = model_tensors({Role::actor, config, 0});
  config.tied = true;
  const auto tied = model_tensors({Role::actor, config, 0});
  const int32_t embedding = 0;
  EXPECT_TRUE(untied.on_stage(embedding, 2, 0));
  EXPECT_FALSE(untied.on_stage(embedding, 2, 1));
  EXPECT_TRUE(tied.on_stage(embedding, 2, 0));
  EXPECT_TRUE(tied.on_stage(embedding, 2, 1));
  EXPECT_FALSE(tied.on_stage(embedding, 3, 1));
  const int32_t head = find(untied, "lm_head.weight");
  EXPECT_FALSE(untied.on_stage(head, 2, 0));
  EXPECT_TRUE(untied.on_stage(head, 2, 1));
  const int32_t layer1 = find(untied, "model.layers.1.mlp.up_proj.weight");
  EXPECT_TRUE(untied.on_stage(layer1, 2, 0));  // two layers and one
  EXPECT_FALSE(untied.on_stage(layer1, 2, 1));
  EXPECT_FALSE(untied.on_stage(layer1, 5, 0));  // more stages than layers: the last two are empty
  EXPECT_TRUE(untied.on_stage(layer1, 5, 1));
}

TEST(ModelTensors, HeadsAreSplitWhole) {
  // Nine query heads on three KV heads of two elements, as SmolLM2 has them.
  const auto model = model_tensors({Role::actor, test::small_model(1, 9, 3, 18, 20), 0});
  const int32_t q = find(model, "model.layers.0.self_attn.q_proj.weight");
  const int32_t k = find(model, "model.layers.0.self_attn.k_proj.weight");
  const int32_t o = find(model, "model.layers.0.self_attn.o_proj.weight");
  // On two ranks: two KV heads with their six query heads, then one with three.
  EXPECT_EQ(model.part(q, 2, 0), (Rect{0, 12, 0, 18}));
  EXPECT_EQ(model.part(q, 2, 1), (Rect{12, 18, 0, 18}));
  EXPECT_EQ(model.part(k, 2, 0), (Rect{0, 4, 0, 18}));
  EXPECT_EQ(model.part(k, 2, 1), (Rect{4, 6, 0, 18}));
  EXPECT_EQ(model.part(o, 2, 1), (Rect{0, 18, 12, 18}));
  // On four, KV heads are copied: ranks 1 and 2 both have head 1.
  EXPECT_EQ(model.part(k, 4, 1), (Rect{2, 4, 0, 18}));
  EXPECT_EQ(model.part(k, 4, 2), (Rect{2, 6, 0, 18}));
  // On ten, the last has no head.
  EXPECT_TRUE(model.part(q, 10, 9).empty());
  EXPECT_TRUE(model.part(k, 10, 9).empty());
}

TEST(ModelTensors, PartsCoverEveryTensor) {
  for (const int64_t kv_heads : {1, 2, 3}) {
    const auto model = model_tensors({Role::actor, test::small_model(2, kv_heads * 3, kv_heads, 7, 13), 2});
    for (int32_t tp = 1; tp <= 12; ++tp) {
      for (int32_t tensor = 0; tensor < model.count(); ++tensor) {
        std::vector<bool> covered(static_cast<size_t>(model.whole(tensor).elements()));
        for (int32_t index = 0; index < tp; ++index) {
          const Rect part = model.part(tensor, tp, index);
          ASSERT_TRUE(model.whole(tensor).contains(part));
          for (int64_t row = part.row_begin; row < part.row_end; ++row) {
            for (int64_t col = part.col_begin; col < part.col_end; ++col)
              covered[static_cast<size_t>(row * model.whole(tensor).cols() + col)] = true;
          }
        }
        EXPECT_EQ(std::count(covered.begin(), covered.end(), false), 0)
            << model.tensors[static_cast<size_t>(tensor)].spec.name << " tp " << tp;
      }
    }
  }
}

}  // namespace
}  // namespace nereus::elastic
