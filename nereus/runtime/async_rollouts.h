#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "nereus/rollout/staleness_queue.h"
#include "nereus/runtime/policy_sampler.h"
#include "nereus/runtime/sync_rollouts.h"

namespace nereus::runtime {

/// Samples and scores beside training, on two threads of its own, as far ahead as the bound on staleness
/// allows. A request keeps the policy that it began with; a new policy reaches the sampler between two of its
/// steps, so neither waits for the other. While it lives, the sampler thread owns the generator, and the
/// scorer thread the rewards.
class AsyncRollouts : public RolloutSource {
 public:
  AsyncRollouts(RolloutParts parts, std::unique_ptr<PolicySampler> sampler);
  ~AsyncRollouts() override;

  /// Interrupted while servers take the first policy, it samples nothing.
  Status start(const RolloutState& state, int64_t version, const Interrupted& interrupted) override;
  /// Waits for a step's groups. After every `async.stall_seconds` without any it notes who waits for what.
  Result<std::optional<ScoredRollouts>> next(metrics::Record& record,
                                             const Interrupted& interrupted) override;
  Status trained(int64_t version) override;
  RolloutState state() const override;

 private:
  using Queue = rollout::StalenessQueue<ScoredRollouts>;
  Result<bool> adopt_first(const Interrupted& interrupted);
  Status restore(const RolloutState& state);
  Result<std::optional<Queue::Taken>> wait_for_batch(const Interrupted& interrupted);
  std::string stall(double seconds) const;

  void run_guarded(const std::function<Status()>& work);

  Status sample_loop();
  Status sample_step(StopWatch& stops);
  Status admit(StopWatch& stops);
  Result<Prompt> next_prompt();

  Status score_loop();
  std::optional<rollout::Group> next_finished();
  Status score_one(rollout::Group group);
  bool worth_training(const ScoredRollouts& group);

  RolloutParts parts_;
  SamplePlan plan_;
  std::unique_ptr<PolicySampler> policy_;
  Queue queue_;
  Stopwatch since_report_;  ///< of the sampler's speed; the training thread's
  int64_t reported_tokens_ = 0;
  int64_t in_generator_ = 0;   ///< groups; the sampler's
  int64_t flat_in_a_row_ = 0;  ///< groups without spread since the last one with; the scorer's

  mutable std::mutex mutex_;
  std::condition_variable finished_changed_;
  // Guarded by mutex_:
  std::deque<uint64_t> again_;          ///< prompts to sample (again) before new ones
  std::map<uint64_t, Prompt> running_;  ///< being sampled or scored
  std::deque<rollout::Group> finished_;
  int64_t told_skipped_ = 0;
  int64_t sampled_tokens_ = 0;
  bool stop_ = false;

  std::thread sampler_, scorer_;
};

}  // namespace nereus::runtime
