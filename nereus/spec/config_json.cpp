#include <algorithm>

#include "nereus/spec/config_limits.h"
#include "nereus/spec/config_reader.h"
#include "nereus/spec/model_config.h"

namespace nereus::spec {
namespace {

constexpr std::string_view kArchitecture = "LlamaForCausalLM";

Status check_family(const Json& json, std::string_view source) {
  if (!json.is_object()) return fail("{}: expected a JSON object", source);
  ConfigReader reader(json, source);
  const std::string family = reader.text("model_type", "");
  if (auto status = reader.status(); !status) return status;
  if (family != "llama") {
    return fail("{}: key 'model_type': family '{}' is not supported; supported: llama", source, family);
  }
  const auto found = json.find("architectures");
  if (found == json.end() || !found->is_array() || found->empty()) return {};
  const Json& architecture = found->front();
  if (architecture.is_string() && architecture.get<std::string>() == kArchitecture) return {};
  return fail("{}: key 'architectures': {} is not supported; expected \"{}\"", source,
              architecture.dump(-1, ' ', true, Json::error_handler_t::replace), kArchitecture);
}

/// Settings that would change the result and are not implemented.
void refuse_unsupported(ConfigReader& reader) {
  if (reader.flag("attention_bias", false))
    reader.refuse("attention_bias", "biases are not supported; expected false");
  if (reader.flag("mlp_bias", false)) reader.refuse("mlp_bias", "biases are not supported; expected false");
  const std::string activation = reader.text("hidden_act", "silu");
  if (activation != "silu")
    reader.refuse("hidden_act", fmt::format("'{}' is not supported; expected 'silu'", activation));
  if (reader.has("quantization_config")) {
    reader.refuse("quantization_config",
                  "quantised Hugging Face folders are not supported; expected plain weights or a GGUF file");
  }
  if (reader.positive("partial_rotary_factor", 1) != 1) {
    reader.refuse("partial_rotary_factor", "partial rotary embedding is not supported; expected 1");
  }
}

void read_llama3(ConfigReader& rope, ModelConfig& config) {
  config.llama3_rope = true;
  config.rope_scaling.factor = rope.positive("factor");
  config.rope_scaling.low_freq_factor = rope.positive("low_freq_factor");
  config.rope_scaling.high_freq_factor = rope.positive("high_freq_factor");
  config.rope_scaling.original_context =
      rope.size("original_max_position_embeddings", kMaxContext, config.context);
}

/// `rope_scaling` (Transformers 4) or `rope_parameters` (5, which also holds the base).
Status read_rope(const Json& json, std::string_view source, const char* key, ModelConfig& config) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return {};
  const std::string where = fmt::format("{}: {}", source, key);
  if (!found->is_object()) return fail("{}: expected an object", where);
  ConfigReader rope(*found, where);
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  config.rope_theta = rope.positive("rope_theta", config.rope_theta);
  if (rope.positive("partial_rotary_factor", 1) != 1) {
    rope.refuse("partial_rotary_factor", "partial rotary embedding is not supported; expected 1");
  }
  if (type == "llama3") {
    read_llama3(rope, config);
  } else if (type != "default") {
    rope.refuse("rope_type", fmt::format("'{}' is not supported; expected 'default' or 'llama3'", type));
  }
  return rope.status();
}

void read_sizes(ConfigReader& reader, ModelConfig& config) {
  config.vocab = reader.size("vocab_size", kMaxVocab);
  config.hidden = reader.size("hidden_size", kMaxWidth);
  config.intermediate = reader.size("intermediate_size", kMaxWidth);
  config.layers = reader.size("num_hidden_layers", kMaxLayers);
  config.heads = reader.size("num_attention_heads", kMaxHeads);
  config.kv_heads = reader.size("num_key_value_heads", kMaxHeads, config.heads);
  config.context = reader.size("max_position_embeddings", kMaxContext);
  if (!reader.has("head_dim") && config.hidden % config.heads != 0) {
    reader.refuse("hidden_size", fmt::format("{} is no multiple of the {} heads, and head_dim is not given",
                                             config.hidden, config.heads));
  }
  config.head_dim = reader.size("head_dim", kMaxHeadDim, std::max<int64_t>(1, config.hidden / config.heads));
}

OrderedJson ids_to_json(const std::vector<int64_t>& ids) {
  if (ids.empty()) return nullptr;
  return ids.size() == 1 ? OrderedJson(ids.front()) : OrderedJson(ids);
}

}  // namespace

Result<ModelConfig> config_from_json(const Json& json, std::string_view source) {
  if (auto family = check_family(json, source); !family) return pass(family);
  ConfigReader reader(json, source);
  ModelConfig config;
  // The defaults are those of Transformers' LlamaConfig, which may leave them out.
  read_sizes(reader, config);
  refuse_unsupported(reader);
  config.norm_eps = reader.positive("rms_norm_eps", 1e-6);
  config.rope_theta = reader.positive("rope_theta", 10000);
  config.tied = reader.flag("tie_word_embeddings", false);
  config.eos_ids = reader.ids("eos_token_id", {2});
  const auto bos = reader.ids("bos_token_id", {1});
  config.bos_id = bos.empty() ? -1 : bos.front();
  if (auto status = reader.status(); !status) return pass(status);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (auto rope = read_rope(json, source, key, config); !rope) return pass(rope);
  }
  if (auto checked = check_config(config, source); !checked) return pass(checked);
  return config;
}

Status add_generation_config(ModelConfig& config, const Json& json, std::string_view source) {
  if (!json.is_object()) return fail("{}: expected a JSON object", source);
  ConfigReader reader(json, source);
  add_eos_ids(config, reader.ids("eos_token_id", {}));
  if (auto status = reader.status(); !status) return status;
  return check_config(config, source);
}

OrderedJson config_to_json(const ModelConfig& config) {
  // Key names of Transformers 4, which 5 reads as well.
  OrderedJson json = {{"architectures", {kArchitecture}},
                      {"model_type", config.family},
                      {"vocab_size", config.vocab},
                      {"hidden_size", config.hidden},
                      {"intermediate_size", config.intermediate},
                      {"num_hidden_layers", config.layers},
                      {"num_attention_heads", config.heads},
                      {"num_key_value_heads", config.kv_heads},
                      {"head_dim", config.head_dim},
                      {"hidden_act", "silu"},
                      {"max_position_embeddings", config.context},
                      {"rms_norm_eps", config.norm_eps},
                      {"rope_theta", config.rope_theta},
                      {"rope_scaling", nullptr},
                      {"attention_bias", false},
                      {"attention_dropout", 0.0},
                      {"mlp_bias", false},
                      {"initializer_range", 0.02},
                      {"tie_word_embeddings", config.tied},
                      {"use_cache", true},
                      {"bos_token_id", nullptr},
                      {"eos_token_id", ids_to_json(config.eos_ids)}};
  if (config.bos_id >= 0) json["bos_token_id"] = config.bos_id;
  if (config.llama3_rope) {
    const Llama3Rope& rope = config.rope_scaling;
    json["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", rope.factor},
                            {"low_freq_factor", rope.low_freq_factor},
                            {"high_freq_factor", rope.high_freq_factor},
                            {"original_max_position_embeddings", rope.original_context}};
  }
  return json;
}

}  // namespace nereus::spec
