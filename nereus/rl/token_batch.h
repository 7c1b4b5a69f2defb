#pragma once

#include <ATen/core/Tensor.h>

namespace nereus::rl {

/// Completion tokens of one micro-batch as one flat list, without padding. Every sequence lies in it whole.
/// Values are float (or double); those of tokens with mask 0 are never used and may be anything, NaN too.
struct TokenBatch {
  at::Tensor logprob;          ///< [tokens] of the policy, with gradient
  at::Tensor old_logprob;      ///< [tokens] of the policy before the step; undefined: `logprob` (ratio 1)
  at::Tensor ref_logprob;      ///< [tokens] of the reference; undefined when beta is 0
  at::Tensor sampler_logprob;  ///< [tokens] as sampled; undefined: no correction. NaN: not known, weight 1
  at::Tensor entropy;          ///< [tokens], with gradient where a bonus is given; undefined: not measured
  at::Tensor advantage;        ///< [sequences]
  at::Tensor token_advantage;  ///< [tokens] instead of `advantage` (PPO, REINFORCE++); undefined otherwise
  at::Tensor sequence;         ///< [tokens] int64, the sequence of each token
  at::Tensor mask;             ///< [tokens] 1 on trained tokens, else 0 (truncated completions, tool output)
};

/// A TokenBatch made safe to compute with.
struct ActiveBatch {
  at::Tensor logprob, old_logprob, ref_logprob, sampler_logprob, entropy;  ///< [tokens], 0 where masked
  at::Tensor advantage;                                                    ///< [tokens], 0 where masked
  at::Tensor sequence;                                                     ///< [tokens] int64
  at::Tensor mask;                                                         ///< [tokens] 0 or 1
  at::Tensor log_ratio;  ///< [tokens] log of policy over old policy, clamped to +-20, with gradient
  at::Tensor length;     ///< [sequences] active tokens
  int64_t sequences = 0;
};

/// Replaces what is masked by 0, fills in what was left out, and spreads advantages over tokens.
ActiveBatch active(const TokenBatch& batch);

/// Sum of `values` [tokens] over each sequence of the batch: [sequences].
at::Tensor sum_by_sequence(const at::Tensor& values, const ActiveBatch& batch);

/// Value of its sequence for each token: [sequences] to [tokens].
at::Tensor spread(const at::Tensor& values, const ActiveBatch& batch);

}  // namespace nereus::rl
