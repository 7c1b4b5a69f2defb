#include "nereus/spec/model_config.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nereus::spec {
namespace {

/// Llama-3's change of one frequency: long waves are slowed by `factor`, short ones kept, those between
/// blended (Transformers' `_compute_llama3_parameters`, in fp32 as there).
float scaled(float frequency, const Llama3Rope& rope) {
  const auto context = static_cast<float>(rope.original_context);
  const auto factor = static_cast<float>(rope.factor);
  const auto low = static_cast<float>(rope.low_freq_factor), high = static_cast<float>(rope.high_freq_factor);
  const float wavelength = 2 * std::numbers::pi_v<float> / frequency;
  if (wavelength < context / high) return frequency;
  if (wavelength > context / low) return frequency / factor;
  const float smooth = (context / wavelength - low) / (high - low);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}

}  // namespace

std::vector<float> ModelConfig::rope_frequencies() const {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < head_dim / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    const float frequency = 1.0F / std::pow(static_cast<float>(rope_theta), exponent);
    frequencies.push_back(llama3_rope ? scaled(frequency, rope_scaling) : frequency);
  }
  return frequencies;
}

Status check_config(const ModelConfig& config, std::string_view source) {
  if (config.heads % config.kv_heads != 0) {
    return fail("{}: {} query heads cannot be shared by {} key and value heads: expected a divisor", source,
                config.heads, config.kv_heads);
  }
  if (config.head_dim % 2 != 0)
    return fail("{}: head size {} is odd; rotary embedding needs pairs", source, config.head_dim);
  if (config.llama3_rope && config.rope_scaling.high_freq_factor <= config.rope_scaling.low_freq_factor) {
    return fail("{}: rope scaling: high_freq_factor {} must exceed low_freq_factor {}", source,
                config.rope_scaling.high_freq_factor, config.rope_scaling.low_freq_factor);
  }
  for (const int64_t id : config.eos_ids) {
    if (id >= config.vocab)
      return fail("{}: end-of-sequence id {} is outside the vocabulary of {}", source, id, config.vocab);
  }
  if (config.bos_id >= config.vocab) {
    return fail("{}: beginning-of-sequence id {} is outside the vocabulary of {}", source, config.bos_id,
                config.vocab);
  }
  return {};
}

void add_eos_ids(ModelConfig& config, const std::vector<int64_t>& ids) {
  for (const int64_t id : ids) {
    if (std::find(config.eos_ids.begin(), config.eos_ids.end(), id) == config.eos_ids.end())
      config.eos_ids.push_back(id);
  }
}

}  // namespace nereus::spec
