#include "nereus/spec/tensor_table.h"

#include <gtest/gtest.h>

#include <set>

namespace nereus::spec {
namespace {

using cluster::Shard;

ModelConfig config() {
  return {.vocab = 50,
          .hidden = 12,
          .intermediate = 20,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 8,
          .context = 16};
}

TEST(TensorTable, OneLayerInOrder) {
  struct Row {
    const char* name;
    const char* gguf_name;
    std::vector<int64_t> shape;
    Shard shard;
    TensorKind kind;
    const char* module;
    bool linear;
  };
  const Row rows[] = {
      {"model.layers.1.input_layernorm.weight",
       "blk.1.attn_norm.weight",
       {12},
       Shard::replicated,
       TensorKind::norm,
       "input_layernorm",
       false},
      {"model.layers.1.self_attn.q_proj.weight",
       "blk.1.attn_q.weight",
       {32, 12},
       Shard::rows,
       TensorKind::q,
       "q_proj",
       true},
      {"model.layers.1.self_attn.k_proj.weight",
       "blk.1.attn_k.weight",
       {16, 12},
       Shard::rows,
       TensorKind::k,
       "k_proj",
       true},
      {"model.layers.1.self_attn.v_proj.weight",
       "blk.1.attn_v.weight",
       {16, 12},
       Shard::rows,
       TensorKind::v,
       "v_proj",
       true},
      {"model.layers.1.self_attn.o_proj.weight",
       "blk.1.attn_output.weight",
       {12, 32},
       Shard::columns,
       TensorKind::o,
       "o_proj",
       true},
      {"model.layers.1.post_attention_layernorm.weight",
       "blk.1.ffn_norm.weight",
       {12},
       Shard::replicated,
       TensorKind::norm,
       "post_attention_layernorm",
       false},
      {"model.layers.1.mlp.gate_proj.weight",
       "blk.1.ffn_gate.weight",
       {20, 12},
       Shard::rows,
       TensorKind::gate,
       "gate_proj",
       true},
      {"model.layers.1.mlp.up_proj.weight",
       "blk.1.ffn_up.weight",
       {20, 12},
       Shard::rows,
       TensorKind::up,
       "up_proj",
       true},
      {"model.layers.1.mlp.down_proj.weight",
       "blk.1.ffn_down.weight",
       {12, 20},
       Shard::columns,
       TensorKind::down,
       "down_proj",
       true},
  };
  const auto table = tensor_table(config());
  for (size_t i = 0; i < std::size(rows); ++i) {
    const TensorSpec& spec = table.at(1 + 9 + i);
    EXPECT_EQ(spec.name, rows[i].name);
    EXPECT_EQ(spec.gguf_name, rows[i].gguf_name);
    EXPECT_EQ(spec.shape, rows[i].shape) << spec.name;
    EXPECT_EQ(spec.shard, rows[i].shard) << spec.name;
    EXPECT_EQ(spec.kind, rows[i].kind) << spec.name;
    EXPECT_EQ(spec.module(), rows[i].module);
    EXPECT_EQ(spec.linear(), rows[i].linear) << spec.name;
    EXPECT_EQ(spec.layer, 1) << spec.name;
  }
}

TEST(TensorTable, OutsideTheLayers) {
  const auto table = tensor_table(config());
  ASSERT_EQ(table.size(), 1 + 2 * 9 + 2);
  EXPECT_EQ(table.front().name, "model.embed_tokens.weight");
  EXPECT_EQ(table.front().module(), "embed_tokens");
  EXPECT_EQ(table.front().shape, (std::vector<int64_t>{50, 12}));
  EXPECT_EQ(table.front().elements(), 600);
  EXPECT_EQ(table.front().layer, -1);
  EXPECT_EQ(table[table.size() - 2].name, "model.norm.weight");
  EXPECT_EQ(table.back().name, "lm_head.weight");
  EXPECT_EQ(table.back().gguf_name, "output.weight");
  EXPECT_EQ(table.back().module(), "lm_head");
}

TEST(TensorTable, ATiedHeadIsNotListed) {
  ModelConfig tied = config();
  tied.tied = true;
  EXPECT_EQ(tensor_table(tied).back().name, "model.norm.weight");
}

TEST(TensorTable, NamesAreUnique) {
  std::set<std::string> names, gguf_names;
  for (const auto& spec : tensor_table(config())) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_TRUE(gguf_names.insert(spec.gguf_name).second) << spec.gguf_name;
  }
}

}  // namespace
}  // namespace nereus::spec
