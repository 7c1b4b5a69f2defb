#pragma once

#include "nereus/base/clock.h"
#include "nereus/metrics/progress.h"
#include "nereus/runtime/actor.h"
#include "nereus/runtime/rollout_source.h"
#include "nereus/runtime/sampling.h"

namespace nereus::runtime {

/// What both kinds of source need of a run. Owned by the run, which outlives them.
struct RolloutParts {
  const Job& job;
  Actor& actor;
  const text::PromptEncoder& encoder;
  PromptStream& stream;
  tasks::RewardList& rewards;
  metrics::Progress& progress;
  const Clock& clock;

  SamplePlan sample_plan() const;
  /// Tells the user of over-long prompts skipped since `told`, and sets it.
  void note_skipped(int64_t& told) const;
};

/// Samples a step's completions when they are asked for, from the policy of that moment.
class SyncRollouts : public RolloutSource {
 public:
  explicit SyncRollouts(RolloutParts parts) : parts_(parts), plan_(parts.sample_plan()) {}

  Status start(const RolloutState& state, int64_t version, const Interrupted& interrupted) override;
  /// Computes, and so comes to its end when interrupted.
  Result<std::optional<ScoredRollouts>> next(metrics::Record& record,
                                             const Interrupted& interrupted) override;
  Status trained(int64_t version) override;
  RolloutState state() const override;

 private:
  Result<ScoredRollouts> sample_and_score(int64_t prompts, double& generate_s, double& reward_s);

  RolloutParts parts_;
  SamplePlan plan_;
  int64_t told_skipped_ = 0;
};

}  // namespace nereus::runtime
