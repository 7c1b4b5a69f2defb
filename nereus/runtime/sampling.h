#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/rollout/generator.h"
#include "nereus/runtime/prompts.h"
#include "nereus/spec/model_config.h"
#include "nereus/text/stop_strings.h"
#include "nereus/text/stream_decoder.h"
#include "nereus/text/tokenizer.h"

namespace nereus::runtime {

/// Adds what ends a completion: every end-of-sequence id that the model's or the tokenizer's files name, and
/// stop strings that are one special token.
void add_stop_ids(rollout::SamplingOptions& sampling, const spec::ModelConfig& model,
                  const text::Tokenizer& tokenizer, const std::vector<std::string>& stops);

/// The text of a completion as rewards and people see it: without special tokens, up to the first stop
/// string.
std::string completion_text(const rollout::Completion& completion, const text::Tokenizer& tokenizer,
                            const std::vector<std::string>& stops);

/// Called now and then with the number of tokens sampled so far.
using SampledTokens = std::function<void(int64_t)>;

struct SamplePlan {
  rollout::SamplingOptions sampling;
  std::vector<std::string> stops;
  uint32_t completions = 1;  ///< of each prompt
  uint64_t seed = 0;
};

/// Completions of all prompts, in their order. The generator sees ids only.
Result<std::vector<rollout::Group>> sample(rollout::Generator& generator, const std::vector<Prompt>& prompts,
                                           const SamplePlan& plan, const text::Tokenizer& tokenizer,
                                           const SampledTokens& on_tokens = {});

}  // namespace nereus::runtime
