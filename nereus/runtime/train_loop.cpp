#include "nereus/runtime/train_loop.h"

#include <algorithm>

#include "nereus/checkpoint/adapter.h"
#include "nereus/checkpoint/write_model.h"
#include "nereus/rl/dapo.h"
#include "nereus/runtime/fingerprint.h"
#include "nereus/runtime/sampling.h"

namespace nereus::runtime {

namespace {

int64_t count_tokens(const ScoredRollouts& rollouts) {
  int64_t tokens = 0;
  for (const auto& group : rollouts.groups)
    for (const auto& completion : group.completions)
      tokens += std::ssize(group.prompt) + std::ssize(completion.tokens);
  return tokens;
}

int64_t count_sampled(const ScoredRollouts& rollouts) {
  int64_t tokens = 0;
  for (const auto& group : rollouts.groups)
    for (const auto& completion : group.completions) tokens += std::ssize(completion.tokens);
  return tokens;
}

/// The groups whose rewards differ, and how many do not.
ScoredRollouts with_spread(const ScoredRollouts& from) {
  ScoredRollouts kept;
  kept.values.resize(from.values.size());
  kept.warnings = from.warnings;
  size_t first = 0;
  for (size_t i = 0; i < from.groups.size(); ++i) {
    const size_t count = from.groups[i].completions.size();
    if (rl::keep_group(from.group_rewards(i))) {
      kept.prompts.push_back(from.prompts[i]);
      kept.groups.push_back(from.groups[i]);
      for (size_t c = first; c < first + count; ++c) {
        kept.texts.push_back(from.texts[c]);
        kept.rewards.push_back(from.rewards[c]);
        for (size_t k = 0; k < from.values.size(); ++k) kept.values[k].push_back(from.values[k][c]);
      }
    }
    first += count;
  }
  return kept;
}

}  // namespace

TrainLoop::TrainLoop(Job job, RunFolder& folder, metrics::Progress& progress, const Clock& clock, Actor actor,
                     PromptEncoder encoder)
    : job_(std::move(job)),
      folder_(folder),
      progress_(progress),
      clock_(clock),
      actor_(std::move(actor)),
      encoder_(std::move(encoder)) {}

Result<std::unique_ptr<TrainLoop>> TrainLoop::make(Job job, RunFolder& folder, metrics::Progress& progress,
                                                   const Clock& clock) {
  auto tokenizer = text::Tokenizer::load(job.model.path);
  if (!tokenizer) return pass(tokenizer);
  auto encoder = PromptEncoder::make(std::move(*tokenizer), job.data.system);
  if (!encoder) return pass(encoder);
  auto actor = Actor::load(job);
  if (!actor) return pass(actor);
  std::unique_ptr<TrainLoop> loop(
      new TrainLoop(std::move(job), folder, progress, clock, std::move(*actor), std::move(*encoder)));
  if (auto status = loop->prepare(); !status) return pass(status);
  return loop;
}

Status TrainLoop::prepare() {
  auto data = open_training_data(job_);
  if (!data) return pass(data);
  data_ = std::move(*data);
  if (job_.eval.every > 0) {
    auto held_out = open_held_out_data(job_);
    if (!held_out) return pass(held_out);
    held_out_ = std::move(*held_out);
  }
  auto rewards = make_rewards(job_.rewards);
  if (!rewards) return pass(rewards);
  rewards_.emplace(std::move(*rewards));
  auto longest = longest_prompt(job_, actor_.source().config());
  if (!longest) return pass(longest);
  stream_.emplace(
      *data_, encoder_,
      PromptStreamOptions{job_.run.seed, job_.data.shuffle, *longest, job_.data.skip_long_prompts});
  trainer_.emplace(actor_.trained(), trainer_options(job_));
  auto fingerprint = model_fingerprint(job_.model.path);
  if (!fingerprint) return pass(fingerprint);
  state_.model_fingerprint = std::move(*fingerprint);
  if (auto status = resume(); !status) return status;
  warn_at_start();
  return open_logs();
}

Status TrainLoop::resume() {
  if (!folder_.existed()) return {};
  std::vector<std::string> damaged;
  auto found = folder_.checkpoints().newest(&damaged);
  if (!found) return pass(found);
  for (const auto& message : damaged) progress_.note("warning: checkpoint passed over: " + message);
  if (*found) {
    const auto& folder = (*found)->folder;
    auto state = read_train_state(folder);
    if (!state) return pass(state);
    if (state->model_fingerprint != state_.model_fingerprint)
      return fail("{}: its base model was another one than {}", folder.string(), job_.model.path.string());
    if (auto status = trainer_->load(folder); !status) return status;
    state_ = std::move(*state);
    stream_->restore(state_.cursor, state_.skipped_prompts);
    saved_step_ = state_.step;
    actor_.update(trainer_->version());
    progress_.note(fmt::format("resumed after step {}", state_.step));
  }
  return folder_.remove_after(state_.step);
}

Status TrainLoop::open_logs() {
  auto metrics = metrics::JsonlWriter::resume(folder_.metrics_file(), state_.step);
  if (!metrics) return pass(metrics);
  metrics_.emplace(std::move(*metrics));
  if (!held_out_) return {};
  // An evaluation before the first step is numbered 0; a run that starts over makes it again.
  auto evaluations =
      metrics::JsonlWriter::resume(folder_.evaluations_file(), state_.step > 0 ? state_.step : -1);
  if (!evaluations) return pass(evaluations);
  evaluations_.emplace(std::move(*evaluations));
  return {};
}

void TrainLoop::warn_at_start() {
  progress_.note(fmt::format("data: {}", data_->description()));
  if (!job_.generation.sampling.full_support())
    progress_.note(
        "warning: generation.top_k, top_p or min_p cut the sampled distribution; the ratio of trained to "
        "sampled probabilities is biased");
  if (job_.generation.dtype == kernels::Element::bf16 && !kernels::has_fast_bf16())
    progress_.note(
        "warning: this processor has no bf16 arithmetic; generation.dtype = \"f32\" is faster here");
}

Result<TrainOutcome> TrainLoop::run(const Interrupt& interrupt) {
  progress_.begin(job_.run.steps, state_.step);
  if (held_out_ && job_.eval.at_start && state_.step == 0)
    if (auto status = evaluate_now(); !status) return pass(status);
  while (state_.step < job_.run.steps && !interrupt.requested()) {
    if (auto status = step(); !status) return pass(status);
    const bool last = state_.step == job_.run.steps;
    if (held_out_ && (due(job_.eval.every) || last))
      if (auto status = evaluate_now(); !status) return pass(status);
    if (due(job_.run.checkpoint_every) || last)
      if (auto status = checkpoint(); !status) return pass(status);
  }
  if (saved_step_ != state_.step)
    if (auto status = checkpoint(); !status) return pass(status);
  const bool finished = state_.step >= job_.run.steps;
  if (finished)
    if (auto status = write_result(); !status) return pass(status);
  progress_.end();
  return finished ? TrainOutcome::finished : TrainOutcome::interrupted;
}

Status TrainLoop::step() {
  const Stopwatch watch(clock_);
  metrics::Record times;
  auto batch = rollouts(times);
  if (!batch) return pass(batch);
  progress_.activity("train");
  auto trained = update(*batch);
  if (!trained) return pass(trained);
  Stopwatch sync(clock_);
  actor_.update(trainer_->version());
  times.set("perf/sync_s", sync.seconds());

  state_.step += 1;
  state_.cursor = stream_->cursor();
  if (stream_->skipped() > state_.skipped_prompts)
    progress_.note(fmt::format("warning: {} over-long prompts skipped so far", stream_->skipped()));
  state_.skipped_prompts = stream_->skipped();
  state_.num_tokens += count_tokens(*batch);
  times.set("perf/step_s", watch.seconds());
  return log(*batch, std::move(times), *trained);
}

Result<ScoredRollouts> TrainLoop::sample_and_score(int64_t prompts, double& generate_s, double& reward_s) {
  auto taken = stream_->take(prompts);
  if (!taken) return pass(taken);
  const SamplePlan plan{sampling_options(job_, actor_.source().config(), encoder_.tokenizer()),
                        job_.generation.stop, static_cast<uint32_t>(job_.generation.completions),
                        job_.run.seed};
  Stopwatch watch(clock_);
  auto groups = sample(actor_.engine(), *taken, plan, encoder_.tokenizer(),
                       [this](int64_t tokens) { progress_.activity("sampled tokens", tokens); });
  generate_s += watch.lap();
  if (!groups) return pass(groups);
  progress_.activity("reward");
  auto scored = score(std::move(*taken), std::move(*groups), *rewards_, encoder_.tokenizer(), plan.stops);
  reward_s += watch.lap();
  return scored;
}

/// A step's completions; with grpo.resample_rounds, groups without spread are replaced by those of other
/// prompts until there are enough or the rounds are used up (DAPO's dynamic sampling).
Result<ScoredRollouts> TrainLoop::rollouts(metrics::Record& times) {
  double generate_s = 0, reward_s = 0;
  auto batch = sample_and_score(job_.data.prompts, generate_s, reward_s);
  if (!batch) return batch;
  for (int64_t round = 0; round < job_.grpo.resample_rounds; ++round) {
    ScoredRollouts kept = with_spread(*batch);
    const int64_t missing = job_.data.prompts - std::ssize(kept.groups);
    if (missing == 0) break;
    auto more = sample_and_score(missing, generate_s, reward_s);
    if (!more) return more;
    kept.append(std::move(*more));
    batch = std::move(kept);
  }
  times.set("perf/generate_s", generate_s);
  times.set("perf/reward_s", reward_s);
  return batch;
}

Result<std::map<std::string, double>> TrainLoop::update(const ScoredRollouts& rollouts) {
  std::vector<train::ScoredGroup> groups;
  for (size_t i = 0; i < rollouts.groups.size(); ++i) groups.push_back(rollouts.scored_group(i));
  return trainer_->step(groups);
}

Status TrainLoop::log(const ScoredRollouts& rollouts, metrics::Record times,
                      const std::map<std::string, double>& trained) {
  metrics::Record record;
  const double step_s = *times.get("perf/step_s"), generate_s = *times.get("perf/generate_s");
  record.set("num_tokens", static_cast<double>(state_.num_tokens));
  record.set("step_time", step_s);
  const auto names = rewards_->names();
  const metrics::Record measured = rollout_metrics(rollouts, names);
  for (const auto& [name, value] : measured.entries()) record.set(name, value);
  for (const auto& [name, value] : trained)
    if (!record.get(name)) record.set(name, value);
  for (const auto& [name, value] : times.entries()) record.set(name, value);
  record.set("perf/tokens_per_s", static_cast<double>(count_tokens(rollouts)) / std::max(step_s, 1e-9));
  record.set("rollout/generated_tokens_per_s",
             static_cast<double>(count_sampled(rollouts)) / std::max(generate_s, 1e-9));
  if (auto status = metrics_->write(record.json(state_.step)); !status) return status;
  if (auto status = folder_.write_completions(state_.step, completion_lines(rollouts, names, state_.step));
      !status)
    return status;
  progress_.step(state_.step, record);
  warn(rollouts, record);
  return {};
}

void TrainLoop::warn(const ScoredRollouts& rollouts, const metrics::Record& record) {
  for (const auto& warning : rollouts.warnings) progress_.note("warning: " + warning);
  const double flat = record.get("frac_reward_zero_std").value_or(0);
  if (flat < 1 || warned_no_spread_) return;
  warned_no_spread_ = true;
  progress_.note(
      "warning: no group of this step has completions of different reward, so it teaches nothing; see "
      "frac_reward_zero_std (more completions, a higher temperature or an easier task help)");
}

Status TrainLoop::evaluate_now() {
  auto result =
      evaluate(job_, actor_.engine(), encoder_, *held_out_, *rewards_, actor_.source().config(),
               [this](int64_t done, int64_t total) { progress_.activity("evaluate", done, total); });
  if (!result) return pass(result);
  OrderedJson line = {{"step", state_.step}};
  line.update(to_json(*result));
  progress_.note(fmt::format("step {}: {}", state_.step, describe(*result)));
  return evaluations_->write(line);
}

Status TrainLoop::checkpoint() {
  progress_.activity("save");
  if (auto status = metrics_->sync(); !status) return status;
  if (evaluations_)
    if (auto status = evaluations_->sync(); !status) return status;
  auto status = folder_.checkpoints().save(
      state_.step, job_.run.keep_checkpoints, [this](const auto& folder) -> Status {
        if (auto saved = trainer_->save(folder); !saved) return saved;
        if (auto saved = write_train_state(folder, state_); !saved) return saved;
        const auto adapter = actor_.trained().adapter();
        if (!adapter) return {};
        return checkpoint::write_adapter(folder / "adapter", *adapter, job_.model.path.string());
      });
  if (status) saved_step_ = state_.step;
  return status;
}

Status TrainLoop::write_result() {
  if (const auto adapter = actor_.trained().adapter())
    return checkpoint::write_adapter(folder_.adapter(), *adapter, job_.model.path.string());
  return checkpoint::write_model(folder_.model(), actor_.source().config(), actor_.trained().weights(),
                                 formats::DType::f32, &actor_.source());
}

}  // namespace nereus::runtime
