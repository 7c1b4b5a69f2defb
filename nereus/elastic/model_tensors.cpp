#include "nereus/elastic/model_tensors.h"

#include <fmt/format.h>

namespace nereus::elastic {
namespace {

using cluster::Shard;
using spec::TensorKind;

ModelTensor value_head(int64_t hidden) {
  return {.spec = {.name = "value_head.weight",
                   .gguf_name = "",
                   .shape = {1, hidden},
                   .shard = Shard::replicated,
                   .layer = -1,
                   .kind = TensorKind::head},
          .adapter = false,
          .trained = true};
}

/// "model.layers.0.mlp.up_proj.weight" to "model.layers.0.mlp.up_proj.lora_A.weight".
ModelTensor factor(const spec::TensorSpec& linear, const char* name, std::vector<int64_t> shape,
                   Shard shard) {
  const std::string stem = linear.name.substr(0, linear.name.rfind('.'));
  return {.spec = {.name = fmt::format("{}.{}.weight", stem, name),
                   .gguf_name = "",
                   .shape = std::move(shape),
                   .shard = shard,
                   .layer = linear.layer,
                   .kind = linear.kind},
          .adapter = true,
          .trained = true};
}

/// The factor that shares its sharded dim with the linear layer is sharded as that is, the other is whole.
void add_factors(std::vector<ModelTensor>& tensors, const spec::TensorSpec& linear, int64_t rank) {
  const bool rows = linear.shard == Shard::rows;
  tensors.push_back(
      factor(linear, "lora_A", {rank, linear.shape[1]}, rows ? Shard::replicated : Shard::columns));
  tensors.push_back(
      factor(linear, "lora_B", {linear.shape[0], rank}, rows ? Shard::rows : Shard::replicated));
}

/// Query heads of a rank: those of its KV heads while there are enough of these.
Interval query_heads(const spec::ModelConfig& config, int32_t tp, int32_t index) {
  if (tp > config.kv_heads) return even_part(config.heads, tp, index);
  const Interval kv = even_part(config.kv_heads, tp, index);
  const int64_t queries = config.heads / config.kv_heads;
  return {kv.begin * queries, kv.end * queries};
}

/// KV heads that the query heads of a rank read.
Interval kv_heads(const spec::ModelConfig& config, int32_t tp, int32_t index) {
  const Interval queries = query_heads(config, tp, index);
  const int64_t each = config.heads / config.kv_heads;
  if (queries.size() == 0) return {0, 0};
  return {queries.begin / each, (queries.end + each - 1) / each};
}

/// The sharded dim's part.
Interval dim_part(const spec::ModelConfig& config, const spec::TensorSpec& tensor, int64_t size, int32_t tp,
                  int32_t index) {
  const auto times = [&](Interval heads) {
    return Interval{heads.begin * config.head_dim, heads.end * config.head_dim};
  };
  switch (tensor.kind) {
    case TensorKind::q:
    case TensorKind::o:
      return times(query_heads(config, tp, index));
    case TensorKind::k:
    case TensorKind::v:
      return times(kv_heads(config, tp, index));
    case TensorKind::embedding:
    case TensorKind::norm:
    case TensorKind::gate:
    case TensorKind::up:
    case TensorKind::down:
    case TensorKind::final_norm:
    case TensorKind::head:
      return even_part(size, tp, index);
  }
  return {0, size};
}

}  // namespace

ModelTensors model_tensors(const plan::Model& model) {
  const bool has_vocabulary_head = model.role == plan::Role::actor || model.role == plan::Role::reference;
  const bool trainable = model.role == plan::Role::actor || model.role == plan::Role::critic;
  const bool lora = model.lora_rank > 0 && trainable;
  ModelTensors result{.role = model.role,
                      .config = model.config,
                      .tied = model.config.tied && has_vocabulary_head,
                      .trainable = trainable,
                      .tensors = {}};
  for (const spec::TensorSpec& tensor : spec::tensor_table(model.config)) {
    if (tensor.kind == TensorKind::head && !has_vocabulary_head) continue;
    result.tensors.push_back({.spec = tensor, .adapter = false, .trained = trainable && !lora});
  }
  if (!has_vocabulary_head) {
    result.tensors.push_back(value_head(model.config.hidden));
    result.tensors.back().trained = trainable;
  }
  if (!lora) return result;
  std::vector<ModelTensor> factors;
  for (const ModelTensor& tensor : result.tensors) {
    if (tensor.spec.linear()) add_factors(factors, tensor.spec, model.lora_rank);
  }
  result.tensors.insert(result.tensors.end(), factors.begin(), factors.end());
  return result;
}

bool ModelTensors::on_stage(int32_t tensor, int32_t pp, int32_t index) const {
  const spec::TensorSpec& spec = tensors[static_cast<size_t>(tensor)].spec;
  if (spec.layer >= 0) {
    const plan::LayerRange range = plan::layers_of_stage(config.layers, pp, index);
    return range.first <= spec.layer && spec.layer < range.last;
  }
  if (spec.kind == TensorKind::embedding) return index == 0 || (tied && index == pp - 1);
  return index == pp - 1;
}

Rect ModelTensors::part(int32_t tensor, int32_t tp, int32_t index) const {
  const spec::TensorSpec& spec = tensors[static_cast<size_t>(tensor)].spec;
  Rect rect{0, spec.shape[0], 0, spec.shape.size() > 1 ? spec.shape[1] : 1};
  if (tp <= 1 || spec.shard == Shard::replicated) return rect;
  const bool rows = spec.shard == Shard::rows;
  const Interval part = dim_part(config, spec, rows ? rect.rows() : rect.cols(), tp, index);
  (rows ? rect.row_begin : rect.col_begin) = part.begin;
  (rows ? rect.row_end : rect.col_end) = part.end;
  return rect.empty() ? Rect{} : rect;
}

}  // namespace nereus::elastic
