#pragma once

#include <functional>
#include <memory>

#include "nereus/base/result.h"
#include "nereus/rollout/generator.h"
#include "nereus/runtime/evaluation_result.h"
#include "nereus/runtime/job.h"
#include "nereus/runtime/prompts.h"
#include "nereus/runtime/sampling.h"
#include "nereus/spec/model_config.h"
#include "nereus/tasks/dataset.h"
#include "nereus/tasks/rewards.h"

namespace nereus::runtime {

/// The training or the held-out prompts of a job. Error: there are none.
Result<std::unique_ptr<tasks::Dataset>> open_training_data(const Job& job);
Result<std::unique_ptr<tasks::Dataset>> open_held_out_data(const Job& job);

/// Longest prompt that leaves room for a completion. Error: there is no room.
Result<int64_t> longest_prompt(const Job& job, const spec::ModelConfig& model);

/// The sampling of a job, with everything that ends a completion.
rollout::SamplingOptions sampling_options(const Job& job, const spec::ModelConfig& model,
                                          const text::Tokenizer& tokenizer);

/// Told how many answers of how many are done.
using AnswersDone = std::function<void(int64_t done, int64_t total)>;

/// Answers the first `eval.samples` held-out prompts, each once, and asks the rewards. The same prompts every
/// time. The generator is idle before and after.
Result<Evaluation> evaluate(const Job& job, rollout::Generator& generator, const text::PromptEncoder& encoder,
                            const tasks::Dataset& held_out, tasks::RewardList& rewards,
                            const spec::ModelConfig& model, const AnswersDone& on_done = {});

}  // namespace nereus::runtime
