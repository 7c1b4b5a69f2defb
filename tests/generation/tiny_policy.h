#pragma once

#include <torch/csrc/autograd/grad_mode.h>

#include <memory>
#include <utility>

#include "nereus/generation/engine.h"
#include "tests/golden/golden_file.h"

namespace nereus::generation {

/// The tiny model of the golden values: two layers, two KV heads of 8, 160 tokens.
inline model::Transformer tiny() {
  const auto source = value_or_throw(checkpoint::Source::open(golden::folder() / "model" / "tiny_grouped"));
  return value_or_throw(model::Transformer::load(source));
}

/// Bytes of a KV block of 4 tokens of it.
inline constexpr int64_t kTinyBlockBytes = 2 * 2 * 2 * 8 * 4 * 4;

inline rollout::Request request(uint64_t id, rollout::Tokens prompt, uint32_t count, int32_t max_new = 12) {
  rollout::Request r;
  r.prompt_id = id;
  r.prompt = std::move(prompt);
  r.count = count;
  r.seed = 42;
  r.sampling.max_new_tokens = max_new;
  return r;
}

inline std::shared_ptr<const model::PackedAdapter> random_adapter(uint64_t seed) {
  model::Transformer model = tiny();
  value_or_throw(model.add_lora(model::LoraOptions{.rank = 4, .alpha = 8}, seed));
  const at::NoGradGuard guard;
  for (auto& parameter : model.parameters())
    if (parameter.name.ends_with("lora_B")) parameter.tensor.fill_(0.03 * static_cast<double>(seed));
  return model.packed_adapter();
}

/// Steps until nothing is left to do.
inline std::vector<rollout::Group> run_out(Engine& engine) {
  std::vector<rollout::Group> done;
  while (!engine.idle())
    for (auto& group : value_or_throw(engine.step())) done.push_back(std::move(group));
  return done;
}

}  // namespace nereus::generation
