#include "nereus/runtime/sync_rollouts.h"

#include <algorithm>

#include "nereus/rl/dapo.h"
#include "nereus/runtime/evaluation.h"

namespace nereus::runtime {

namespace {

/// The groups whose rewards differ.
ScoredRollouts with_spread(const ScoredRollouts& from) {
  ScoredRollouts kept;
  kept.values.resize(from.values.size());
  kept.warnings = from.warnings;
  for (size_t i = 0; i < from.groups.size(); ++i)
    if (rl::keep_group(from.group_rewards(i))) kept.append(from.group(i));
  return kept;
}

int64_t count_sampled(const ScoredRollouts& rollouts) {
  int64_t tokens = 0;
  for (const auto& group : rollouts.groups)
    for (const auto& completion : group.completions) tokens += std::ssize(completion.tokens);
  return tokens;
}

}  // namespace

SamplePlan RolloutParts::sample_plan() const {
  return {sampling_options(job, actor.source().config(), encoder.tokenizer()), job.generation.stop,
          static_cast<uint32_t>(job.generation.completions), job.run.seed};
}

void RolloutParts::note_skipped(int64_t& told) const {
  if (stream.skipped() <= told) return;
  told = stream.skipped();
  progress.note(fmt::format("warning: {} over-long prompts skipped so far", told));
}

Status SyncRollouts::start(const RolloutState& state, int64_t version, const Interrupted& /*interrupted*/) {
  if (!state.unfinished.empty() || !state.queued.empty())
    return fail("the checkpoint holds groups of an asynchronous run; resume it with async.enabled = true");
  parts_.stream.restore(state.cursor, state.skipped_prompts);
  told_skipped_ = state.skipped_prompts;
  parts_.actor.update(version);
  return {};
}

Result<ScoredRollouts> SyncRollouts::sample_and_score(int64_t prompts, double& generate_s, double& reward_s) {
  auto taken = parts_.stream.take(prompts);
  if (!taken) return pass(taken);
  Stopwatch watch(parts_.clock);
  auto groups = sample(parts_.actor.engine(), *taken, plan_, parts_.encoder.tokenizer(),
                       [this](int64_t tokens) { parts_.progress.activity("sampled tokens", tokens); });
  generate_s += watch.lap();
  if (!groups) return pass(groups);
  parts_.progress.activity("reward");
  auto scored =
      score(std::move(*taken), std::move(*groups), parts_.rewards, parts_.encoder.tokenizer(), plan_.stops);
  reward_s += watch.lap();
  return scored;
}

/// With grpo.resample_rounds, groups without spread are replaced by those of other prompts until there are
/// enough or the rounds are used up (DAPO's dynamic sampling).
Result<std::optional<ScoredRollouts>> SyncRollouts::next(metrics::Record& record,
                                                         const Interrupted& /*interrupted*/) {
  const Job& job = parts_.job;
  double generate_s = 0, reward_s = 0;
  auto batch = sample_and_score(job.data.prompts, generate_s, reward_s);
  if (!batch) return pass(batch);
  for (int64_t round = 0; round < job.grpo.resample_rounds; ++round) {
    ScoredRollouts kept = with_spread(*batch);
    const int64_t missing = job.data.prompts - std::ssize(kept.groups);
    if (missing == 0) break;
    auto more = sample_and_score(missing, generate_s, reward_s);
    if (!more) return pass(more);
    kept.append(std::move(*more));
    batch = std::move(kept);
  }
  parts_.note_skipped(told_skipped_);
  record.set("perf/generate_s", generate_s);
  record.set("perf/reward_s", reward_s);
  record.set("rollout/generated_tokens_per_s",
             static_cast<double>(count_sampled(*batch)) / std::max(generate_s, 1e-9));
  return std::move(*batch);
}

Status SyncRollouts::trained(int64_t version) {
  parts_.actor.update(version);
  return {};
}

RolloutState SyncRollouts::state() const {
  return {parts_.stream.cursor(), parts_.stream.skipped(), {}, {}};
}

}  // namespace nereus::runtime
