#include "nereus/spec/tensor_table.h"

#include <fmt/format.h>

namespace nereus::spec {
namespace {

using cluster::Shard;

/// A tensor of every layer: its names inside the layer.
struct LayerTensor {
  const char* name;
  const char* gguf_name;
  std::vector<int64_t> shape;
  Shard shard;
  TensorKind kind;
};

std::vector<LayerTensor> layer_tensors(const ModelConfig& c) {
  const int64_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  return {
      {"input_layernorm", "attn_norm", {c.hidden}, Shard::replicated, TensorKind::norm},
      {"self_attn.q_proj", "attn_q", {q, c.hidden}, Shard::rows, TensorKind::q},
      {"self_attn.k_proj", "attn_k", {kv, c.hidden}, Shard::rows, TensorKind::k},
      {"self_attn.v_proj", "attn_v", {kv, c.hidden}, Shard::rows, TensorKind::v},
      {"self_attn.o_proj", "attn_output", {c.hidden, q}, Shard::columns, TensorKind::o},
      {"post_attention_layernorm", "ffn_norm", {c.hidden}, Shard::replicated, TensorKind::norm},
      {"mlp.gate_proj", "ffn_gate", {c.intermediate, c.hidden}, Shard::rows, TensorKind::gate},
      {"mlp.up_proj", "ffn_up", {c.intermediate, c.hidden}, Shard::rows, TensorKind::up},
      {"mlp.down_proj", "ffn_down", {c.hidden, c.intermediate}, Shard::columns, TensorKind::down},
  };
}

TensorSpec in_layer(const LayerTensor& tensor, int64_t layer) {
  return {.name = fmt::format("model.layers.{}.{}.weight", layer, tensor.name),
          .gguf_name = fmt::format("blk.{}.{}.weight", layer, tensor.gguf_name),
          .shape = tensor.shape,
          .shard = tensor.shard,
          .layer = layer,
          .kind = tensor.kind};
}

TensorSpec outside(const char* name, const char* gguf_name, std::vector<int64_t> shape, Shard shard,
                   TensorKind kind) {
  return {.name = name,
          .gguf_name = gguf_name,
          .shape = std::move(shape),
          .shard = shard,
          .layer = -1,
          .kind = kind};
}

}  // namespace

bool TensorSpec::linear() const {
  switch (kind) {
    case TensorKind::q:
    case TensorKind::k:
    case TensorKind::v:
    case TensorKind::o:
    case TensorKind::gate:
    case TensorKind::up:
    case TensorKind::down:
      return true;
    case TensorKind::embedding:
    case TensorKind::norm:
    case TensorKind::final_norm:
    case TensorKind::head:
      return false;
  }
  return false;
}

int64_t TensorSpec::elements() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::string TensorSpec::module() const {
  const size_t end = name.rfind('.');
  const size_t before = name.rfind('.', end - 1);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return name.substr(begin, end - begin);
}

std::vector<TensorSpec> tensor_table(const ModelConfig& config) {
  const std::vector<int64_t> vocabulary = {config.vocab, config.hidden};
  std::vector<TensorSpec> table;
  table.push_back(outside("model.embed_tokens.weight", "token_embd.weight", vocabulary, Shard::rows,
                          TensorKind::embedding));
  const auto in_each = layer_tensors(config);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    for (const LayerTensor& tensor : in_each) table.push_back(in_layer(tensor, layer));
  }
  table.push_back(outside("model.norm.weight", "output_norm.weight", {config.hidden}, Shard::replicated,
                          TensorKind::final_norm));
  if (!config.tied) {
    table.push_back(outside("lm_head.weight", "output.weight", vocabulary, Shard::rows, TensorKind::head));
  }
  return table;
}

}  // namespace nereus::spec
