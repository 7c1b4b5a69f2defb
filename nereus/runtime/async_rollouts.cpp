#include "nereus/runtime/async_rollouts.h"

#include <algorithm>
#include <chrono>

#include "nereus/metrics/summary.h"
#include "nereus/rl/dapo.h"
#include "nereus/runtime/group_json.h"

namespace nereus::runtime {

namespace {

using namespace std::chrono_literals;

/// The version that sampled a group: all its tokens have the same.
int64_t version_of(const rollout::Group& group) {
  for (const auto& completion : group.completions)
    if (!completion.versions.empty()) return completion.versions.front();
  return 0;
}

metrics::Summary summary_of(const auto& values) {
  metrics::Summary summary;
  for (const auto value : values) summary.add(static_cast<double>(value));
  return summary;
}

}  // namespace

AsyncRollouts::AsyncRollouts(RolloutParts parts, std::unique_ptr<PolicySampler> sampler)
    : parts_(parts),
      plan_(parts.sample_plan()),
      policy_(std::move(sampler)),
      queue_({parts.job.data.prompts, parts.job.async.max_staleness}),
      since_report_(parts.clock) {}

AsyncRollouts::~AsyncRollouts() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  queue_.close();
  finished_changed_.notify_all();
  for (auto* thread : {&sampler_, &scorer_})
    if (thread->joinable()) thread->join();
}

Status AsyncRollouts::start(const RolloutState& state, int64_t version, const Interrupted& interrupted) {
  policy_->hand_over(parts_.actor.trained(), version);
  queue_.trained(version);
  queue_.published(version);
  if (auto status = restore(state); !status) return status;
  const auto adopted = adopt_first(interrupted);
  if (!adopted) return pass(adopted);
  if (!*adopted) return {};
  const ThreadShares shares =
      policy_->embedded() ? split_threads(parts_.job.async.sampler_threads) : ThreadShares{0, 1};
  sampler_ = std::thread([this, shares] {
    use_threads(shares.sampler);
    run_guarded([this] { return sample_loop(); });
  });
  scorer_ = std::thread([this] { run_guarded([this] { return score_loop(); }); });
  use_threads(shares.trainer);
  return {};
}

/// Nothing is sampled before the servers have the policy. False: interrupted.
Result<bool> AsyncRollouts::adopt_first(const Interrupted& interrupted) {
  const Stopwatch watch(parts_.clock);
  for (;;) {
    const auto adopted = policy_->adopt();
    if (!adopted) return pass(adopted);
    if (*adopted || interrupted()) return adopted->has_value();
    if (watch.seconds() > parts_.job.async.stall_seconds) return fail("{}", policy_->trouble());
    std::this_thread::sleep_for(100ms);
  }
}

Status AsyncRollouts::restore(const RolloutState& state) {
  parts_.stream.restore(state.cursor, state.skipped_prompts);
  told_skipped_ = state.skipped_prompts;
  again_.assign(state.unfinished.begin(), state.unfinished.end());
  for (const Json& json : state.queued) {
    auto group = group_from_json(json);
    if (!group) return pass(group);
    auto prompt = parts_.stream.at(group->prompt_id);
    if (!prompt) return pass(prompt);
    group->prompt = prompt->tokens;
    const int64_t version = version_of(*group);
    auto scored = score({std::move(*prompt)}, {std::move(*group)}, parts_.rewards, parts_.encoder.tokenizer(),
                        plan_.stops);
    if (!scored) return pass(scored);
    queue_.restore(std::move(*scored), version);
  }
  return {};
}

// --- the training thread

Result<std::optional<ScoredRollouts>> AsyncRollouts::next(metrics::Record& record,
                                                          const Interrupted& interrupted) {
  Stopwatch watch(parts_.clock);
  auto waited = wait_for_batch(interrupted);
  if (!waited) return pass(waited);
  if (!*waited) return std::nullopt;
  Queue::Taken& taken = **waited;
  record.set("perf/rollout_wait_s", watch.seconds());
  // By their place in the data, so that the batch does not depend on which finished first.
  std::ranges::sort(taken.groups, {}, [](const ScoredRollouts& group) { return group.prompts.front().id; });
  ScoredRollouts batch;
  for (ScoredRollouts& group : taken.groups) batch.append(std::move(group));
  const auto counts = queue_.counts();
  const auto staleness = summary_of(taken.staleness);
  record.set("sample/staleness_mean", staleness.mean());
  record.set("sample/staleness_max", staleness.max());
  record.set("sample/time_in_queue_s", summary_of(taken.seconds_queued).mean());
  record.set("sample/queue_size", static_cast<double>(counts.queued));
  record.set("sample/dropped_stale_total", static_cast<double>(counts.dropped * plan_.completions));
  record.set("rollout/inflight", static_cast<double>(counts.running * plan_.completions));
  const std::lock_guard lock(mutex_);
  for (const ScoredRollouts& group : taken.stale) again_.push_back(group.prompts.front().id);
  parts_.note_skipped(told_skipped_);
  record.set("rollout/generated_tokens_per_s",
             static_cast<double>(sampled_tokens_ - reported_tokens_) / std::max(since_report_.lap(), 1e-9));
  reported_tokens_ = sampled_tokens_;
  return batch;
}

Result<std::optional<AsyncRollouts::Queue::Taken>> AsyncRollouts::wait_for_batch(
    const Interrupted& interrupted) {
  Stopwatch watch(parts_.clock);
  double next_note = parts_.job.async.stall_seconds;
  for (;;) {
    auto taken = queue_.take(200ms);
    if (!taken) return pass(taken);
    if (*taken || interrupted()) return taken;
    parts_.progress.activity("wait for completions", queue_.counts().queued, parts_.job.data.prompts);
    if (watch.seconds() < next_note) continue;
    parts_.progress.note(stall(watch.seconds()));
    next_note = 2 * watch.seconds();
  }
}

std::string AsyncRollouts::stall(double seconds) const {
  const auto counts = queue_.counts();
  const std::string trouble = policy_->trouble();
  const std::lock_guard lock(mutex_);
  const auto scoring = std::ssize(finished_);
  return fmt::format(
      "warning: training has waited {:.0f} s for completions: {} of {} groups are there, {} are being "
      "sampled, "
      "{} wait for their rewards; {} may be untrained at once, {} tokens were sampled so far{}",
      seconds, counts.queued, parts_.job.data.prompts, counts.running - scoring, scoring, counts.room,
      sampled_tokens_, trouble.empty() ? "" : "; " + trouble);
}

Status AsyncRollouts::trained(int64_t version) {
  queue_.trained(version);
  if (version % parts_.job.async.sync_steps != 0) return {};
  policy_->hand_over(parts_.actor.trained(), version);
  return {};
}

RolloutState AsyncRollouts::state() const {
  RolloutState state;
  {
    const std::lock_guard lock(mutex_);
    state.cursor = parts_.stream.cursor();
    state.skipped_prompts = parts_.stream.skipped();
    state.unfinished.assign(again_.begin(), again_.end());
    for (const auto& [id, prompt] : running_) state.unfinished.push_back(id);
  }
  // A group that was queued meanwhile is in both lists: its completions count.
  queue_.for_each_queued([&](const ScoredRollouts& group, int64_t) {
    state.queued.push_back(group_json(group.groups.front()));
    std::erase(state.unfinished, group.prompts.front().id);
  });
  return state;
}

/// Runs a thread's work; however it fails, the training thread is told.
void AsyncRollouts::run_guarded(const std::function<Status()>& work) {
  try {
    if (auto status = work(); !status) queue_.fail(status.error());
  } catch (const std::exception& error) {
    queue_.fail(Error{error.what()});
  }
}

// --- the sampler thread

Status AsyncRollouts::sample_loop() {
  StopWatch stops(parts_.encoder.tokenizer(), plan_.stops);
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return {};
    }
    if (auto status = sample_step(stops); !status) return status;
  }
}

Status AsyncRollouts::sample_step(StopWatch& stops) {
  const auto adopted = policy_->adopt();
  if (!adopted) return pass(adopted);
  if (*adopted) queue_.published(**adopted);
  if (auto status = admit(stops); !status) return status;
  if (policy_->generator().idle()) return queue_.wait_for_room(20ms), Status();
  auto groups = policy_->generator().step();
  if (!groups) return pass(groups);
  in_generator_ -= std::ssize(*groups);
  const std::lock_guard lock(mutex_);
  for (auto& group : *groups) {
    stops.forget(group.prompt_id);
    for (const auto& completion : group.completions) sampled_tokens_ += std::ssize(completion.tokens);
    finished_.push_back(std::move(group));
  }
  if (!groups->empty()) finished_changed_.notify_one();
  return {};
}

Status AsyncRollouts::admit(StopWatch& stops) {
  // A prompt that would only wait in the generator is better begun later, under a newer policy.
  while (in_generator_ * parts_.job.generation.completions < parts_.job.generation.max_running &&
         queue_.admit()) {
    auto prompt = next_prompt();
    if (!prompt) return pass(prompt);
    rollout::Request request{prompt->id, prompt->tokens, plan_.completions, plan_.seed, plan_.sampling};
    auto status = policy_->generator().submit(
        std::move(request), [&stops](uint64_t id, uint32_t completion, int32_t token, float /*logprob*/) {
          return stops.goes_on(id, completion, token);
        });
    if (!status) return status;
    ++in_generator_;
  }
  return {};
}

Result<Prompt> AsyncRollouts::next_prompt() {
  const std::lock_guard lock(mutex_);
  Result<Prompt> prompt = fail("no prompt");
  if (again_.empty()) {
    auto taken = parts_.stream.take(1);
    if (!taken) return pass(taken);
    prompt = std::move(taken->front());
  } else {
    prompt = parts_.stream.at(again_.front());
    if (!prompt) return prompt;
    again_.pop_front();
  }
  running_.emplace(prompt->id, *prompt);
  return prompt;
}

// --- the scorer thread

Status AsyncRollouts::score_loop() {
  while (auto group = next_finished())
    if (auto status = score_one(std::move(*group)); !status) return status;
  return {};
}

std::optional<rollout::Group> AsyncRollouts::next_finished() {
  std::unique_lock lock(mutex_);
  finished_changed_.wait(lock, [this] { return stop_ || !finished_.empty(); });
  if (stop_) return std::nullopt;
  rollout::Group group = std::move(finished_.front());
  finished_.pop_front();
  return group;
}

Status AsyncRollouts::score_one(rollout::Group group) {
  const uint64_t id = group.prompt_id;
  const int64_t version = version_of(group);
  Prompt prompt = [&] {
    const std::lock_guard lock(mutex_);
    return running_.at(id);
  }();
  auto scored =
      score({std::move(prompt)}, {std::move(group)}, parts_.rewards, parts_.encoder.tokenizer(), plan_.stops);
  if (!scored) return pass(scored);
  const bool kept = worth_training(*scored);
  // At once: a checkpoint must find the group running or queued, never running when it is already trained.
  const std::lock_guard lock(mutex_);
  if (kept)
    queue_.push(std::move(*scored), version);
  else
    queue_.abandon();
  running_.erase(id);
  return {};
}

/// DAPO's dynamic sampling: groups without spread are left out, as long as there are others.
bool AsyncRollouts::worth_training(const ScoredRollouts& group) {
  const bool spread = rl::keep_group(group.group_rewards(0));
  flat_in_a_row_ = spread ? 0 : flat_in_a_row_ + 1;
  return spread || flat_in_a_row_ > parts_.job.grpo.resample_rounds * parts_.job.data.prompts;
}

}  // namespace nereus::runtime
