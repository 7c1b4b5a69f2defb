#include "nereus/runtime/train_loop.h"

#include <algorithm>
#include <cstdlib>

#include "nereus/checkpoint/adapter.h"
#include "nereus/checkpoint/write_model.h"
#include "nereus/runtime/async_rollouts.h"
#include "nereus/runtime/fingerprint.h"
#include "nereus/runtime/remote_sampler.h"
#include "nereus/runtime/sync_rollouts.h"

namespace nereus::runtime {

namespace {

int64_t count_tokens(const ScoredRollouts& rollouts) {
  int64_t tokens = 0;
  for (const auto& group : rollouts.groups)
    for (const auto& completion : group.completions)
      tokens += std::ssize(group.prompt) + std::ssize(completion.tokens);
  return tokens;
}

Result<std::unique_ptr<PolicySampler>> make_sampler(const RolloutParts& parts, const RunFolder& run,
                                                    const std::string& fingerprint) {
  const AsyncSection& async = parts.job.async;
  if (async.server.empty()) return std::make_unique<EmbeddedSampler>(parts.actor);
  auto url = http::Url::parse(async.server);
  if (!url) return fail("async.server: {}", url.error().message);
  RemoteSamplerOptions options;
  options.remote.url = std::move(*url);
  if (const char* token = std::getenv("NEREUS_TOKEN")) options.remote.token = token;
  options.keep = static_cast<size_t>(async.max_staleness) + 1;
  options.start_seconds = async.stall_seconds;
  options.fingerprint = fingerprint;
  options.base_model = parts.job.model.path.string();
  auto bucket = serving::Bucket::open(async.bucket.empty() ? run.bucket() : async.bucket);
  if (!bucket) return pass(bucket);
  auto sampler = RemoteSampler::connect(std::move(options), std::move(*bucket));
  if (!sampler) return pass(sampler);
  return std::move(*sampler);
}

Result<std::unique_ptr<RolloutSource>> make_rollouts(const RolloutParts& parts, const RunFolder& run,
                                                     const std::string& fingerprint) {
  if (!parts.job.async.enabled) return std::make_unique<SyncRollouts>(parts);
  auto sampler = make_sampler(parts, run, fingerprint);
  if (!sampler) return pass(sampler);
  return std::make_unique<AsyncRollouts>(parts, std::move(*sampler));
}

}  // namespace

TrainLoop::TrainLoop(Job job, RunFolder& folder, metrics::Progress& progress, const Clock& clock, Actor actor,
                     text::PromptEncoder encoder)
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
  auto encoder = text::PromptEncoder::make(std::move(*tokenizer), job.data.system);
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
  for (auto* list : {&rewards_, &evaluation_rewards_}) {
    auto rewards = make_rewards(job_.rewards);
    if (!rewards) return pass(rewards);
    list->emplace(std::move(*rewards));
  }
  auto longest = longest_prompt(job_, actor_.source().config());
  if (!longest) return pass(longest);
  stream_.emplace(
      *data_, encoder_,
      PromptStreamOptions{job_.run.seed, job_.data.shuffle, *longest, job_.data.skip_long_prompts});
  trainer_.emplace(actor_.trained(), trainer_options(job_));
  auto fingerprint = model_fingerprint(job_.model.path);
  if (!fingerprint) return pass(fingerprint);
  state_.model_fingerprint = std::move(*fingerprint);
  auto source = make_rollouts({job_, actor_, encoder_, *stream_, *rewards_, progress_, clock_}, folder_,
                              state_.model_fingerprint);
  if (!source) return pass(source);
  rollouts_ = std::move(*source);
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
    saved_step_ = state_.step;
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
  const Interrupted interrupted = [&interrupt] { return interrupt.requested(); };
  if (auto status = rollouts_->start(state_.rollouts, trainer_->version(), interrupted); !status)
    return pass(status);
  if (held_out_ && job_.eval.at_start && state_.step == 0 && !interrupted())
    if (auto status = evaluate_now(); !status) return pass(status);
  while (state_.step < job_.run.steps && !interrupted()) {
    const auto stepped = step(interrupted);
    if (!stepped) return pass(stepped);
    if (!*stepped) break;
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

Result<bool> TrainLoop::step(const Interrupted& interrupted) {
  const Stopwatch watch(clock_);
  metrics::Record times;
  const auto next = rollouts_->next(times, interrupted);
  if (!next) return pass(next);
  if (!*next) return false;
  const ScoredRollouts& batch = **next;
  progress_.activity("train");
  auto trained = update(batch);
  if (!trained) return pass(trained);
  Stopwatch sync(clock_);
  if (auto status = rollouts_->trained(trainer_->version()); !status) return pass(status);
  times.set("perf/sync_s", sync.seconds());

  state_.step += 1;
  state_.num_tokens += count_tokens(batch);
  times.set("perf/step_s", watch.seconds());
  if (auto status = log(batch, std::move(times), *trained); !status) return pass(status);
  return true;
}

Result<std::map<std::string, double>> TrainLoop::update(const ScoredRollouts& rollouts) {
  std::vector<train::ScoredGroup> groups;
  for (size_t i = 0; i < rollouts.groups.size(); ++i) groups.push_back(rollouts.scored_group(i));
  return trainer_->step(groups);
}

Status TrainLoop::log(const ScoredRollouts& rollouts, metrics::Record times,
                      const std::map<std::string, double>& trained) {
  metrics::Record record;
  const double step_s = *times.get("perf/step_s");
  record.set("num_tokens", static_cast<double>(state_.num_tokens));
  record.set("step_time", step_s);
  const auto names = rewards_->names();
  const metrics::Record measured = rollout_metrics(rollouts, names);
  for (const auto& [name, value] : measured.entries()) record.set(name, value);
  for (const auto& [name, value] : trained)
    if (!record.get(name)) record.set(name, value);
  for (const auto& [name, value] : times.entries()) record.set(name, value);
  record.set("perf/tokens_per_s", static_cast<double>(count_tokens(rollouts)) / std::max(step_s, 1e-9));
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
  // Beside a sampler that goes on, with an engine of its own.
  const auto own = job_.async.enabled ? actor_.make_engine(engine_options(job_)) : nullptr;
  auto result = evaluate(job_, own ? *own : actor_.engine(), encoder_, *held_out_, *evaluation_rewards_,
                         actor_.source().config(), [this](int64_t done, int64_t total) {
                           progress_.activity("evaluate", done, total);
                         });
  if (!result) return pass(result);
  OrderedJson line = {{"step", state_.step}};
  line.update(to_json(*result));
  progress_.note(fmt::format("step {}: {}", state_.step, describe(*result)));
  return evaluations_->write(line);
}

Status TrainLoop::checkpoint() {
  progress_.activity("save");
  state_.rollouts = rollouts_->state();
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
