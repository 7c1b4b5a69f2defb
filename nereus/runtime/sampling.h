#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
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

/// Watches the texts of growing completions for stop strings. Does not own the tokenizer nor the list. Not
/// thread-safe.
class StopWatch {
 public:
  StopWatch(const text::Tokenizer& tokenizer, const std::vector<std::string>& stops)
      : tokenizer_(tokenizer), stops_(stops) {}

  /// Whether the completion goes on after this token.
  bool goes_on(uint64_t prompt, uint32_t completion, int32_t token);
  /// The prompt's completions have ended.
  void forget(uint64_t prompt);

 private:
  struct Growing {
    text::StreamDecoder decoder;
    text::StopStrings stops;
  };
  const text::Tokenizer& tokenizer_;
  const std::vector<std::string>& stops_;
  std::map<std::pair<uint64_t, uint32_t>, Growing> texts_;
};

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
