#include "nereus/plan/known_models.h"

#include <array>

namespace nereus::plan {

namespace {

enum class Family : uint8_t { llama, qwen2 };

/// What differs between the models of a family, in the order of config.json.
struct Sizes {
  const char* name;
  Family family;
  int64_t vocab, hidden, intermediate, layers, heads, kv_heads, head_dim, context;
  double norm_eps, rope_theta;
  bool tied;
};

// From the config.json files that Meta, Alibaba (Qwen2.5, the base models) and Hugging Face (SmolLM2)
// published.
constexpr std::array kModels = {
    Sizes{"llama-3-8b", Family::llama, 128256, 4096, 14336, 32, 32, 8, 128, 8192, 1e-5, 500000, false},
    Sizes{"llama-3-70b", Family::llama, 128256, 8192, 28672, 80, 64, 8, 128, 8192, 1e-5, 500000, false},
    Sizes{"llama-3.1-8b", Family::llama, 128256, 4096, 14336, 32, 32, 8, 128, 131072, 1e-5, 500000, false},
    Sizes{"llama-3.1-70b", Family::llama, 128256, 8192, 28672, 80, 64, 8, 128, 131072, 1e-5, 500000, false},
    Sizes{"qwen2.5-0.5b", Family::qwen2, 151936, 896, 4864, 24, 14, 2, 64, 32768, 1e-6, 1000000, true},
    Sizes{"qwen2.5-1.5b", Family::qwen2, 151936, 1536, 8960, 28, 12, 2, 128, 131072, 1e-6, 1000000, true},
    Sizes{"qwen2.5-3b", Family::qwen2, 151936, 2048, 11008, 36, 16, 2, 128, 32768, 1e-6, 1000000, true},
    Sizes{"qwen2.5-7b", Family::qwen2, 152064, 3584, 18944, 28, 28, 4, 128, 131072, 1e-6, 1000000, false},
    Sizes{"qwen2.5-14b", Family::qwen2, 152064, 5120, 13824, 48, 40, 8, 128, 131072, 1e-5, 1000000, false},
    Sizes{"qwen2.5-32b", Family::qwen2, 152064, 5120, 27648, 64, 40, 8, 128, 131072, 1e-5, 1000000, false},
    Sizes{"qwen2.5-72b", Family::qwen2, 152064, 8192, 29568, 80, 64, 8, 128, 131072, 1e-5, 1000000, false},
    Sizes{"smollm2-135m", Family::llama, 49152, 576, 1536, 30, 9, 3, 64, 8192, 1e-5, 100000, true},
};

/// Llama 3.1 stretches the positions of Llama 3.
bool stretched(const Sizes& sizes) {
  return sizes.family == Family::llama && sizes.context > 8192;
}

spec::ModelConfig config_of(const Sizes& sizes) {
  spec::ModelConfig config;
  config.family = sizes.family == Family::qwen2 ? "qwen2" : "llama";
  config.vocab = sizes.vocab;
  config.hidden = sizes.hidden;
  config.intermediate = sizes.intermediate;
  config.layers = sizes.layers;
  config.heads = sizes.heads;
  config.kv_heads = sizes.kv_heads;
  config.head_dim = sizes.head_dim;
  config.context = sizes.context;
  config.norm_eps = sizes.norm_eps;
  config.rope_theta = sizes.rope_theta;
  config.tied = sizes.tied;
  config.attention_bias = sizes.family == Family::qwen2;  // of q, k and v
  config.llama3_rope = stretched(sizes);
  if (config.llama3_rope) config.rope_scaling.factor = 8;
  return config;
}

}  // namespace

std::optional<spec::ModelConfig> known_model(const std::string& name) {
  for (const auto& sizes : kModels)
    if (sizes.name == name) return config_of(sizes);
  return std::nullopt;
}

std::vector<std::string> known_model_names() {
  std::vector<std::string> names;
  for (const auto& sizes : kModels) names.emplace_back(sizes.name);
  return names;
}

}  // namespace nereus::plan
