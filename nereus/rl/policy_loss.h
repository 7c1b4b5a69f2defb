#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <string_view>

#include "nereus/base/result.h"
#include "nereus/rl/aggregation.h"
#include "nereus/rl/correction.h"
#include "nereus/rl/loss_sums.h"
#include "nereus/rl/token_batch.h"

namespace nereus::rl {

enum class LossKind {
  grpo,   ///< clipped ratio of each token (clip_loss.h)
  gspo,   ///< clipped ratio of each sequence (sequence_ratio.h)
  luspo,  ///< gspo, each sequence scaled by its length
  cispo,  ///< clipped weight of the log-prob's gradient (cispo.h)
  sapo,   ///< a smooth gate instead of clipping (sapo.h)
  vespo,  ///< a smooth weight of the whole sequence (vespo.h)
};
inline constexpr std::array<std::string_view, 6> kLossKinds{"grpo",  "gspo", "luspo",
                                                            "cispo", "sapo", "vespo"};

struct LossOptions {
  LossKind loss = LossKind::grpo;
  std::optional<Aggregation> aggregation = {};  ///< absent: the algorithm's own, see aggregation_of

  std::optional<double> epsilon = {};       ///< ratio clipped below at 1 - epsilon; 0.2 (gspo, luspo: 3e-4)
  std::optional<double> epsilon_high = {};  ///< and above at 1 + this; absent: epsilon (gspo, luspo: 4e-4)
  std::optional<double> delta = {};         ///< cap of the unclipped ratio as well (two-sided clipping)
  std::optional<double> dual_clip = {};     ///< c: where A < 0 the loss is at most -c A; usual 3
  double cispo_max = 5.0;                   ///< cap of cispo's weight, absolute
  double sapo_temperature_pos = 1.0;        ///< gate's temperature where A > 0
  double sapo_temperature_neg = 1.05;       ///< and elsewhere
  double vespo_k_pos = 2.0;                 ///< vespo's exponent and decay where A >= 0
  double vespo_lambda_pos = 3.0;
  double vespo_k_neg = 3.0;  ///< and where A < 0
  double vespo_lambda_neg = 2.0;

  double beta = 0.0;                  ///< weight of the KL to the reference; 0: no reference is needed
  bool kl_times_ratio = true;         ///< the KL's estimate times the ratio: gradient of the reverse KL
  CorrectionOptions correction = {};  ///< for a sampler that is not the old policy
  std::optional<double> off_policy_threshold = {};  ///< drops sequences too far off policy; usual 0.5

  double entropy_coef = 0.0;  ///< weight of the mean entropy of the trained tokens, as a bonus
};

/// Values that stand for what the options leave open.
Aggregation aggregation_of(const LossOptions& options);
double epsilon_of(const LossOptions& options);
double epsilon_high_of(const LossOptions& options);

struct LossResult {
  at::Tensor loss;  ///< scalar, with gradient: this micro-batch's part of the batch's loss
  LossSums sums;    ///< to be added over micro-batches and ranks
};

/// Loss of a micro-batch. The sum over the micro-batches of a global batch with these `counts` is the loss of
/// the batch, and so are the gradients. Nothing active: exactly 0 with zero gradients.
/// REQUIRES: options are valid; the batch has ref_logprob where beta != 0, and entropy where entropy_coef !=
/// 0 or counts carry an entropy threshold. A pure function, safe from any thread.
LossResult policy_loss(const TokenBatch& batch, const GlobalCounts& counts, const LossOptions& options);

/// Refuses what cannot work, naming the key and the range.
Status validate(const LossOptions& options);

}  // namespace nereus::rl
