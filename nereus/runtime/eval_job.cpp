#include "nereus/runtime/eval_job.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "nereus/base/clock.h"
#include "nereus/metrics/count_progress.h"
#include "nereus/ops/product.h"
#include "nereus/runtime/actor.h"
#include "nereus/runtime/evaluation.h"
#include "nereus/runtime/job_file.h"
#include "nereus/runtime/scoring.h"

namespace nereus::runtime {

namespace fs = std::filesystem;

namespace {

/// What is scored: the job, and the model and adapter that it or its run names.
struct Subject {
  Job job;
  SamplerOptions sampler;
};

Result<Subject> find_subject(const EvalCommand& command) {
  std::error_code error;
  const bool run = fs::is_directory(command.job, error);
  auto job = read_job(run ? command.job / "job.toml" : command.job, command.overrides);
  if (!job) return pass(job);
  Subject subject{std::move(*job), {}};
  const bool lora = subject.job.lora.enabled;
  subject.sampler = {subject.job.model.path, subject.job.model.adapter, engine_options(subject.job),
                     subject.job.generation.dtype};
  const fs::path result = command.job / (lora ? "adapter" : "model");
  if (run && command.adapter.empty() && !fs::exists(result, error))
    return fail(
        "{}: the run has no {} yet, which is written after the last step; with LoRA, checkpoints have "
        "theirs: "
        "--adapter {}/checkpoints/step-.../adapter",
        command.job.string(), result.filename().string(), command.job.string());
  if (run) (lora ? subject.sampler.adapter : subject.sampler.model) = result;
  if (!command.adapter.empty()) subject.sampler.adapter = command.adapter;
  return subject;
}

}  // namespace

Result<Evaluation> evaluate(const EvalCommand& command) {
  auto subject = find_subject(command);
  if (!subject) return pass(subject);
  const Job& job = subject->job;
  use_threads(job.run.threads);
  ops::set_matmul_precision(job.run.matmul_precision);
  auto held_out = open_held_out_data(job);
  if (!held_out) return pass(held_out);
  auto rewards = make_rewards(job.rewards);
  if (!rewards) return pass(rewards);
  auto tokenizer = text::Tokenizer::load(subject->sampler.model);
  if (!tokenizer) return pass(tokenizer);
  auto encoder = text::PromptEncoder::make(std::move(*tokenizer), job.data.system);
  if (!encoder) return pass(encoder);
  auto sampler = load_sampler(subject->sampler);
  if (!sampler) return pass(sampler);

  const SteadyClock clock;
  const auto all = static_cast<int64_t>((*held_out)->size());
  metrics::CountProgress progress(std::cerr, clock, metrics::TerminalOptions::detect(STDERR_FILENO),
                                  "evaluate", job.eval.samples > 0 ? std::min(job.eval.samples, all) : all);
  auto result = evaluate(job, *sampler->engine, *encoder, **held_out, *rewards, sampler->source.config(),
                         [&](int64_t done, int64_t /*total*/) { progress.update(done); });
  progress.end();
  return result;
}

}  // namespace nereus::runtime
