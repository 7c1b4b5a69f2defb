#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/model/transformer.h"
#include "nereus/rl/advantages.h"
#include "nereus/rl/entropy.h"
#include "nereus/rl/policy_loss.h"
#include "nereus/rollout/types.h"
#include "nereus/train/optimizer.h"

namespace nereus::train {

struct TrainerOptions {
  OptimizerOptions optimizer;
  rl::AdvantageOptions advantages;
  rl::LossOptions loss;
  int64_t max_completion_length = 256;  ///< denominator of dr_grpo
  float temperature = 1;                ///< that of sampling: logits are divided by it on both sides
  int64_t micro_batch_tokens =
      512;  ///< packed tokens of one forward and backward pass (more where one completion is longer)
  int64_t minibatches = 1;    ///< optimizer steps that one batch of groups is divided into
  int64_t epochs = 1;         ///< passes over the batch
  bool recompute = false;     ///< keep only the layers' inputs, compute the rest again in the backward pass
  bool share_prompts = true;  ///< completions of a group share the prompt's tokens in the training pass
  bool skip_zero_advantage = true;  ///< leave out completions whose gradient is exactly 0 (no spread in their
                                    ///< group, no KL, no entropy bonus); counts and denominators keep them
  bool mask_truncated = false;      ///< completions cut by the length limit are not trained (DAPO)
  int64_t overlong_cache = 0;  ///< soft penalty over the last so many tokens before the limit (DAPO); 0: off
  double top_entropy_quantile = 1.0;  ///< train only this fraction of tokens, the most uncertain ones
  std::optional<rl::EntropyControlOptions> entropy_control;  ///< adapts the coefficient of the entropy bonus
  int64_t reference_sync_steps =
      0;                         ///< every so many updates the reference moves towards the policy; 0: never
  double reference_mixup = 0.6;  ///< share of the policy in that move
  int64_t kept_policies = 0;     ///< past policies to compare a sampler with that lags behind; 0: none
};

/// A sampled group and its rewards: rewards[function][completion], absent where the reward gave up.
struct ScoredGroup {
  rollout::Group group;
  std::vector<std::vector<std::optional<double>>> rewards;
};

/// Turns scored groups into a better policy: advantages, log-probs, losses, optimizer. Owns the optimizer's
/// state, not the model. Not thread-safe.
class Trainer {
 public:
  /// REQUIRES: the model has trainable parameters and outlives the trainer.
  Trainer(model::Transformer& model, TrainerOptions options);
  ~Trainer();
  Trainer(Trainer&&) noexcept;

  /// One policy update from whole groups. Metrics by the names of docs/metrics.md (those that the trainer
  /// knows: losses, kl, entropy, clip ratios, sampling differences, grad_norm, lr, perf/logprob_s,
  /// perf/train_s). Error: a group is broken (lengths differ, ids out of range, group size 1 where the
  /// algorithm needs more).
  Result<std::map<std::string, double>> step(const std::vector<ScoredGroup>& groups);

  /// Policy updates so far; also the number of the policy's version.
  int64_t version() const;

  /// What a resumed run needs: trained tensors, masters, moments, counters. Written into an existing folder.
  Status save(const std::filesystem::path& folder) const;
  Status load(const std::filesystem::path& folder);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nereus::train
