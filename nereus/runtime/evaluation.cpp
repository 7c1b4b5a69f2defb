#include "nereus/runtime/evaluation.h"

#include <algorithm>
#include <cmath>

#include "nereus/base/clock.h"
#include "nereus/metrics/summary.h"
#include "nereus/runtime/scoring.h"
#include "nereus/tasks/builtin.h"
#include "nereus/tasks/jsonl_dataset.h"

namespace nereus::runtime {

namespace {

/// Random streams of an evaluation are apart from those of training, whose prompts count from 0.
constexpr uint64_t kEvaluationPrompts = uint64_t{1} << 62;
constexpr int64_t kAnswersAtOnce = 128;

/// Adds up answers, batch after batch.
class Tally {
 public:
  explicit Tally(std::vector<std::string> names) : names_(std::move(names)), means_(names_.size()) {}

  void add(ScoredRollouts batch) {
    for (const auto& group : batch.groups) add_length(group.completions.front());
    for (size_t k = 0; k < names_.size(); ++k) add_all(means_[k], batch.values[k]);
    add_all(reward_, batch.rewards);
    for (const auto& first : batch.values.front()) hits_ += first.value_or(0) >= 1 ? 1 : 0;
    std::ranges::move(batch.warnings, std::back_inserter(warnings_));
  }

  Evaluation finish() {
    Evaluation out;
    out.samples = std::llround(means_.front().weight());
    out.absent = std::llround(length_.weight()) - out.samples;
    out.accuracy = wilson(hits_, out.samples);
    for (size_t k = 0; k < names_.size(); ++k) out.rewards.emplace_back(names_[k], means_[k].mean());
    out.reward = reward_.mean();
    out.mean_length = length_.mean();
    out.clipped_ratio = clipped_.mean();
    out.warnings = std::move(warnings_);
    return out;
  }

 private:
  void add_length(const rollout::Completion& completion) {
    length_.add(static_cast<double>(completion.tokens.size()));
    clipped_.add(completion.finish == rollout::Finish::length ? 1 : 0);
  }
  static void add_all(metrics::Summary& summary, const tasks::RewardValues& values) {
    for (const auto& value : values)
      if (value) summary.add(*value);
  }

  std::vector<std::string> names_;
  std::vector<metrics::Summary> means_;
  metrics::Summary reward_, length_, clipped_;
  int64_t hits_ = 0;
  std::vector<std::string> warnings_;
};

Result<std::unique_ptr<tasks::Dataset>> open_data(const Job& job, const std::filesystem::path& file,
                                                  tasks::Split split) {
  if (!file.empty()) return tasks::open_jsonl_dataset(file);
  return tasks::open_builtin(job.data.task, job.data.builtin, split);
}

}  // namespace

Result<std::unique_ptr<tasks::Dataset>> open_training_data(const Job& job) {
  return open_data(job, job.data.file, tasks::Split::train);
}

Result<std::unique_ptr<tasks::Dataset>> open_held_out_data(const Job& job) {
  if (job.data.task.empty() && job.eval.file.empty())
    return fail("eval.file is missing: data.file has no held-out part");
  return open_data(job, job.eval.file, tasks::Split::held_out);
}

Result<int64_t> longest_prompt(const Job& job, const spec::ModelConfig& model) {
  const int64_t room = model.context - job.generation.sampling.max_new_tokens;
  if (room < 1)
    return fail(
        "generation.max_new_tokens = {} leaves no room for a prompt in the model's context of {} tokens",
        job.generation.sampling.max_new_tokens, model.context);
  if (job.data.max_prompt_tokens > room)
    return fail(
        "data.max_prompt_tokens = {} and generation.max_new_tokens = {} exceed the model's context of {} "
        "tokens",
        job.data.max_prompt_tokens, job.generation.sampling.max_new_tokens, model.context);
  return job.data.max_prompt_tokens > 0 ? job.data.max_prompt_tokens : room;
}

rollout::SamplingOptions sampling_options(const Job& job, const spec::ModelConfig& model,
                                          const text::Tokenizer& tokenizer) {
  rollout::SamplingOptions sampling = job.generation.sampling;
  add_stop_ids(sampling, model, tokenizer, job.generation.stop);
  return sampling;
}

namespace {

struct HeldOutPrompts {
  std::vector<Prompt> prompts;
  int64_t skipped = 0;
};

/// Held-out prompts [first, last).
Result<HeldOutPrompts> take_held_out(const Job& job, const text::PromptEncoder& encoder,
                                     const tasks::Dataset& held_out, int64_t first, int64_t last,
                                     int64_t longest) {
  HeldOutPrompts out;
  for (auto index = static_cast<uint64_t>(first); index < static_cast<uint64_t>(last); ++index) {
    auto sample = held_out.at(index);
    if (!sample) return pass(sample);
    auto tokens = encoder.encode(sample->prompt, sample->source);
    if (!tokens) return pass(tokens);
    if (std::ssize(*tokens) <= longest)
      out.prompts.push_back({kEvaluationPrompts + index, std::move(*sample), std::move(*tokens)});
    else if (job.data.skip_long_prompts)
      ++out.skipped;
    else
      return too_long(sample->source, tokens->size(), longest);
  }
  return out;
}

}  // namespace

Result<Evaluation> evaluate(const Job& job, rollout::Generator& generator, const text::PromptEncoder& encoder,
                            const tasks::Dataset& held_out, tasks::RewardList& rewards,
                            const spec::ModelConfig& model, const AnswersDone& on_done) {
  const SteadyClock clock;
  const Stopwatch watch(clock);
  auto longest = longest_prompt(job, model);
  if (!longest) return pass(longest);
  const auto all = static_cast<int64_t>(held_out.size());
  const int64_t total = job.eval.samples > 0 ? std::min(job.eval.samples, all) : all;
  SamplePlan plan{sampling_options(job, model, encoder.tokenizer()), job.generation.stop, 1, job.run.seed};
  plan.sampling.temperature = static_cast<float>(job.eval.temperature);
  Tally tally(rewards.names());
  int64_t skipped = 0;
  for (int64_t first = 0; first < total; first += kAnswersAtOnce) {
    const int64_t last = std::min(first + kAnswersAtOnce, total);
    auto part = take_held_out(job, encoder, held_out, first, last, *longest);
    if (!part) return pass(part);
    skipped += part->skipped;
    auto groups = sample(generator, part->prompts, plan, encoder.tokenizer());
    if (!groups) return pass(groups);
    auto scored =
        score(std::move(part->prompts), std::move(*groups), rewards, encoder.tokenizer(), plan.stops);
    if (!scored) return pass(scored);
    tally.add(std::move(*scored));
    if (on_done) on_done(last, total);
  }
  Evaluation out = tally.finish();
  out.skipped = skipped;
  out.seconds = watch.seconds();
  return out;
}

}  // namespace nereus::runtime
