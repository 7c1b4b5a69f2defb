#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace nereus::rl {

/// What a micro-batch contributes to the step's metrics, as plain numbers: sums are added over micro-batches
/// and ranks, extremes kept, and only then divided. All are over active tokens.
struct LossSums {
  double tokens = 0;
  double sequences = 0;                                           ///< with an active token
  double policy_loss = 0;                                         ///< loss without the entropy bonus
  double kl = 0;                                                  ///< sum of the KL's estimates
  double entropy = 0;                                             ///< sum
  bool has_kl = false, has_entropy = false, has_sampler = false;  ///< what was given, hence what is reported

  double ratio = 0;  ///< sum of policy over old policy
  double ratio_min = std::numeric_limits<double>::infinity();
  double ratio_max = 0;
  double clipped_low = 0;                                             ///< tokens with A < 0 below the range
  double clipped_high = 0;                                            ///< tokens with A > 0 above the range
  double sequence_low_min = std::numeric_limits<double>::infinity();  ///< least fraction in a sequence
  double sequence_high_max = 0;                                       ///< greatest fraction in a sequence

  double logp_difference = 0;  ///< sum of |old - sampler|
  double logp_difference_max = 0;
  double weights = 0;  ///< how many w there are: tokens, or sequences where the correction is theirs
  double weight = 0;   ///< sum of the correction's w before its bounds
  double weight_min = std::numeric_limits<double>::infinity();
  double weight_max = 0;
  double correction_masked = 0;  ///< tokens that the correction's bounds set to 0
  double off_policy_masked = 0;  ///< tokens of sequences dropped as too far off policy
  double entropy_masked = 0;     ///< tokens below the entropy threshold

  LossSums& operator+=(const LossSums& other);
};

/// The step's metrics by the names of the metrics file. Without active tokens: those that are sums, as 0.
std::vector<std::pair<std::string, double>> metrics(const LossSums& sums);

}  // namespace nereus::rl
