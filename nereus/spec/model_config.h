#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/formats/gguf.h"

namespace nereus::spec {

/// Llama-3's scaling of rotary frequencies (`rope_scaling` of type "llama3" in config.json).
struct Llama3Rope {
  double factor = 1, low_freq_factor = 1, high_freq_factor = 4;
  int64_t original_context = 8192;
};

/// Architecture of a decoder-only transformer. Families differ by these values, not by code.
struct ModelConfig {
  std::string family = "llama";  ///< `model_type` of config.json, `general.architecture` of GGUF
  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t layers = 0;
  int64_t heads = 0;     ///< query heads
  int64_t kv_heads = 0;  ///< grouped-query attention where fewer than heads
  int64_t head_dim = 0;
  int64_t context = 0;  ///< max_position_embeddings
  double norm_eps = 1e-5;
  double rope_theta = 10000;
  bool llama3_rope = false;
  Llama3Rope rope_scaling = {};  ///< used where llama3_rope
  bool tied = false;             ///< the head is the embedding
  bool attention_bias = false;   ///< refused by the reader until a family needs it
  int64_t bos_id = -1;
  std::vector<int64_t> eos_ids = {};  ///< every end-of-sequence id (config.json, generation_config.json)

  /// Inverse frequencies of the rotary embedding, [head_dim / 2], with llama3 scaling applied.
  std::vector<float> rope_frequencies() const;
};

/// From a parsed config.json; `source` names the file in errors. Unknown families, missing keys and
/// inconsistent sizes are errors that name the key.
Result<ModelConfig> config_from_json(const Json& json, std::string_view source);
Result<ModelConfig> config_from_gguf(const formats::GgufFile& file);
/// Adds the end-of-sequence ids of a parsed generation_config.json.
Status add_generation_config(ModelConfig& config, const Json& json, std::string_view source);
/// Adds ids that `config.eos_ids` lacks.
void add_eos_ids(ModelConfig& config, const std::vector<int64_t>& ids);
/// Whether the sizes and ids fit one another; the error names `source`.
Status check_config(const ModelConfig& config, std::string_view source);
/// A config.json that Transformers loads (LlamaForCausalLM).
OrderedJson config_to_json(const ModelConfig& config);

}  // namespace nereus::spec
