#pragma once

#include "nereus/rl/correction.h"
#include "nereus/rl/loss_sums.h"
#include "nereus/rl/token_batch.h"

namespace nereus::rl {

/// What the loss of a micro-batch was made of. All [tokens].
struct LossTerms {
  at::Tensor ratio;  ///< of the token or of its sequence
  at::Tensor kl;     ///< undefined without a reference
  Correction correction;
  at::Tensor off_policy;    ///< 0 where dropped; undefined: nothing is
  at::Tensor entropy_keep;  ///< 0 below the entropy threshold; undefined: no threshold
  double clip_low = 0;      ///< ratios outside [clip_low, clip_high] count as clipped
  double clip_high = 0;
};

/// The sums and extremes over the active tokens, without gradient. `policy_loss` is left 0.
LossSums measure(const ActiveBatch& batch, const LossTerms& terms);

}  // namespace nereus::rl
