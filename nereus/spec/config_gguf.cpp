#include <algorithm>
#include <cmath>
#include <cstring>

#include "nereus/spec/config_limits.h"
#include "nereus/spec/config_reader.h"
#include "nereus/spec/model_config.h"

namespace nereus::spec {
namespace {

constexpr std::string_view kRopeFactors = "rope_freqs.weight";

Status check_family(const formats::GgufFile& file) {
  ConfigReader reader(file.metadata(), file.source());
  const std::string family = reader.text("general.architecture", "");
  if (auto status = reader.status(); !status) return status;
  if (family == "llama") return {};
  return fail("{}: key 'general.architecture': family '{}' is not supported; supported: llama", file.source(),
              family);
}

/// Rows of the embedding, else the length of the token list (a file of a vocabulary alone).
int64_t vocabulary(const formats::GgufFile& file, ConfigReader& reader) {
  if (const auto* embedding = file.find("token_embd.weight");
      embedding != nullptr && embedding->shape.size() == 2) {
    return embedding->shape[0];
  }
  const auto tokens = file.metadata().find("tokenizer.ggml.tokens");
  const bool listed = tokens != file.metadata().end() && tokens->is_array() && !tokens->empty();
  return reader.size("llama.vocab_size", kMaxVocab,
                     listed ? std::optional(static_cast<int64_t>(tokens->size())) : std::nullopt);
}

void read_sizes(const formats::GgufFile& file, ConfigReader& reader, ModelConfig& config) {
  config.vocab = vocabulary(file, reader);
  config.hidden = reader.size("llama.embedding_length", kMaxWidth);
  config.intermediate = reader.size("llama.feed_forward_length", kMaxWidth);
  config.layers = reader.size("llama.block_count", kMaxLayers);
  config.heads = reader.size("llama.attention.head_count", kMaxHeads);
  config.kv_heads = reader.size("llama.attention.head_count_kv", kMaxHeads, config.heads);
  config.context = reader.size("llama.context_length", kMaxContext);
  const int64_t even_share = std::max<int64_t>(1, config.hidden / config.heads);
  config.head_dim = reader.size("llama.attention.key_length", kMaxHeadDim, even_share);
  for (const char* key : {"llama.attention.value_length", "llama.rope.dimension_count"}) {
    const int64_t size = reader.size(key, kMaxHeadDim, config.head_dim);
    if (size != config.head_dim)
      reader.refuse(key,
                    fmt::format("{} is not supported; expected the head size {}", size, config.head_dim));
  }
  if (config.vocab < 1 || config.vocab > kMaxVocab)
    reader.refuse("token_embd.weight", "expected at least one row");
}

void refuse_unsupported(const formats::GgufFile& file, ConfigReader& reader) {
  const std::string scaling = reader.text("llama.rope.scaling.type", "none");
  if (scaling != "none" && !(scaling == "linear" && reader.positive("llama.rope.scaling.factor", 1) == 1)) {
    reader.refuse("llama.rope.scaling.type", fmt::format("'{}' is not supported; expected 'none'", scaling));
  }
  const Json& metadata = file.metadata();
  if (const auto experts = metadata.find("llama.expert_count"); experts != metadata.end() && *experts != 0) {
    reader.refuse("llama.expert_count", "mixtures of experts are not supported; expected 0");
  }
}

std::vector<int64_t> end_ids(ConfigReader& reader) {
  std::vector<int64_t> ids;
  for (const char* key : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    for (const int64_t id : reader.ids(fmt::format("tokenizer.ggml.{}", key), {})) ids.push_back(id);
  }
  return ids;
}

/// GGUF files hold Llama-3's scaling as divisors of the frequencies, [head_dim / 2], not as its parameters:
/// tries those that the published models have, and takes them where they give the same divisors.
Status read_rope_factors(const formats::GgufFile& file, ModelConfig& config) {
  const auto* tensor = file.find(kRopeFactors);
  if (tensor == nullptr) return {};
  if (tensor->dtype != formats::DType::f32 || tensor->shape != std::vector{config.head_dim / 2}) {
    return fail("{}: tensor '{}': expected F32 of shape [{}], found {} of shape {}", file.source(),
                kRopeFactors, config.head_dim / 2, formats::dtype_name(tensor->dtype),
                formats::shape_text(tensor->shape));
  }
  std::vector<float> factors(static_cast<size_t>(config.head_dim / 2));
  std::memcpy(factors.data(), tensor->bytes.data(), tensor->bytes.size());
  if (std::all_of(factors.begin(), factors.end(), [](float f) { return f == 1; })) return {};

  const auto plain = config.rope_frequencies();
  config.llama3_rope = true;
  config.rope_scaling = {.factor = *std::max_element(factors.begin(), factors.end()),
                         .low_freq_factor = 1,
                         .high_freq_factor = 4,
                         .original_context = 8192};
  const auto scaled = config.rope_frequencies();
  for (size_t i = 0; i < factors.size(); ++i) {
    if (std::abs(plain[i] / scaled[i] / factors[i] - 1) < 1e-4F) continue;
    return fail("{}: tensor '{}': divisor {} of pair {} is not supported; expected Llama-3's scaling",
                file.source(), kRopeFactors, factors[i], i);
  }
  return {};
}

}  // namespace

Result<ModelConfig> config_from_gguf(const formats::GgufFile& file) {
  if (auto family = check_family(file); !family) return pass(family);
  ConfigReader reader(file.metadata(), file.source());
  ModelConfig config;
  read_sizes(file, reader, config);
  refuse_unsupported(file, reader);
  config.norm_eps = reader.positive("llama.attention.layer_norm_rms_epsilon");
  config.rope_theta = reader.positive("llama.rope.freq_base", 10000);
  config.tied = file.find("output.weight") == nullptr;
  add_eos_ids(config, end_ids(reader));
  const auto bos = reader.ids("tokenizer.ggml.bos_token_id", {});
  config.bos_id = bos.empty() ? -1 : bos.front();
  if (auto status = reader.status(); !status) return pass(status);
  if (auto checked = check_config(config, file.source()); !checked) return pass(checked);
  if (auto rope = read_rope_factors(file, config); !rope) return pass(rope);
  return config;
}

}  // namespace nereus::spec
