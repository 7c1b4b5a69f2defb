#pragma once

#include <vector>

#include "nereus/base/result.h"
#include "nereus/rl/advantages.h"
#include "nereus/rl/aggregation.h"
#include "nereus/train/packing.h"
#include "nereus/train/trainer.h"

namespace nereus::train {

/// A forward and backward pass, with the log-probs that stay fixed during the step.
struct MicroBatch {
  PackedBatch packed;
  at::Tensor old_logprob, ref_logprob;  ///< [tokens]; undefined where not needed
  at::Tensor old_entropy;  ///< [tokens] of the policy before the step; undefined where not needed
};

/// What one optimizer step trains on.
struct Minibatch {
  std::vector<MicroBatch> micro_batches;
  rl::GlobalCounts counts;  ///< of all its completions, those left out of the passes too
};

/// All completions of a step as one list, group after group.
class StepBatch {
 public:
  /// Checks the groups: whole, of one size of lists, ids within the vocabulary, as many rewards as
  /// completions.
  static Result<StepBatch> create(const std::vector<ScoredGroup>& groups, const TrainerOptions& options,
                                  int64_t vocab);

  /// Fills `advantages`; the token-wise kinds need `tokens.kl` beforehand (see token_wise).
  Status compute_advantages(std::vector<float> kl = {});
  bool token_wise() const;

  /// Divides the groups into `options.minibatches` runs and packs each. Completions whose gradient is exactly
  /// 0 are left out where the options allow it.
  std::vector<Minibatch> minibatches() const;

  /// Advantages by sequence [sequences], or by token [tokens] (undefined unless token-wise).
  at::Tensor sequence_advantage(const PackedBatch& batch) const;
  at::Tensor token_advantage(const PackedBatch& batch) const;

  const rl::Advantages& advantages() const { return advantages_; }
  /// Place of a completion in the flat list, and of its first token among all tokens.
  size_t flat(const CompletionRef& ref) const;
  size_t first_token(const CompletionRef& ref) const { return token_offset_[flat(ref)]; }
  size_t tokens() const { return token_offset_.back(); }

 private:
  StepBatch(const std::vector<ScoredGroup>& groups, const TrainerOptions& options);
  void add_overlong_penalty(const std::vector<ScoredGroup>& groups);
  int64_t active_tokens(const CompletionRef& ref) const;
  bool trains(const CompletionRef& ref) const;
  Minibatch minibatch(int64_t first_group, int64_t last_group) const;

  TrainerOptions options_;
  std::vector<const rollout::Group*> groups_;
  std::vector<int64_t> sizes_;
  std::vector<size_t> offset_;        ///< of each group's first completion in the flat list
  std::vector<size_t> token_offset_;  ///< of each completion's first token, and the total at the end
  std::vector<std::vector<rl::Reward>> rewards_;
  rl::Advantages advantages_;
};

}  // namespace nereus::train
