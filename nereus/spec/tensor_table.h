#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nereus/cluster/shard.h"
#include "nereus/spec/model_config.h"

namespace nereus::spec {

enum class TensorKind : uint8_t { embedding, norm, q, k, v, o, gate, up, down, final_norm, head };

/// One tensor of the model, as files, layers, shards and optimizers all see it.
struct TensorSpec {
  std::string name;            ///< Hugging Face's: "model.layers.0.self_attn.q_proj.weight"
  std::string gguf_name;       ///< "blk.0.attn_q.weight"
  std::vector<int64_t> shape;  ///< [out, in] for linear layers
  cluster::Shard shard = cluster::Shard::replicated;
  int64_t layer = -1;  ///< -1: outside the layers
  TensorKind kind = TensorKind::embedding;

  bool linear() const;  ///< one of q, k, v, o, gate, up, down: may carry LoRA
  int64_t elements() const;
  /// Last part of the module path: "q_proj"; what PEFT's target_modules lists.
  std::string module() const;
};

/// All tensors of a model in file order; a tied head is not listed.
std::vector<TensorSpec> tensor_table(const ModelConfig& config);

}  // namespace nereus::spec
