#include "nereus/rl/loss_sums.h"

#include <algorithm>
#include <cmath>

namespace nereus::rl {
namespace {

// Extremes of nothing are infinite; files of metrics hold numbers.
double finite(double value) {
  return std::isfinite(value) ? value : 0.0;
}

}  // namespace

LossSums& LossSums::operator+=(const LossSums& other) {
  tokens += other.tokens;
  sequences += other.sequences;
  policy_loss += other.policy_loss;
  kl += other.kl;
  entropy += other.entropy;
  has_kl |= other.has_kl;
  has_entropy |= other.has_entropy;
  has_sampler |= other.has_sampler;
  ratio += other.ratio;
  ratio_min = std::min(ratio_min, other.ratio_min);
  ratio_max = std::max(ratio_max, other.ratio_max);
  clipped_low += other.clipped_low;
  clipped_high += other.clipped_high;
  sequence_low_min = std::min(sequence_low_min, other.sequence_low_min);
  sequence_high_max = std::max(sequence_high_max, other.sequence_high_max);
  logp_difference += other.logp_difference;
  logp_difference_max = std::max(logp_difference_max, other.logp_difference_max);
  weights += other.weights;
  weight += other.weight;
  weight_min = std::min(weight_min, other.weight_min);
  weight_max = std::max(weight_max, other.weight_max);
  correction_masked += other.correction_masked;
  off_policy_masked += other.off_policy_masked;
  entropy_masked += other.entropy_masked;
  return *this;
}

std::vector<std::pair<std::string, double>> metrics(const LossSums& sums) {
  const double tokens = std::max(sums.tokens, 1.0);
  std::vector<std::pair<std::string, double>> result{
      {"policy_loss", sums.policy_loss},
      {"ratio", sums.ratio / tokens},
      {"ratio_min", finite(sums.ratio_min)},
      {"ratio_max", sums.ratio_max},
      {"clip_ratio/low_mean", sums.clipped_low / tokens},
      {"clip_ratio/low_min", finite(sums.sequence_low_min)},
      {"clip_ratio/high_mean", sums.clipped_high / tokens},
      {"clip_ratio/high_max", sums.sequence_high_max},
      {"clip_ratio/region_mean", (sums.clipped_low + sums.clipped_high) / tokens},
      {"masked/off_policy", sums.off_policy_masked / tokens},
      {"masked/entropy", sums.entropy_masked / tokens}};
  if (sums.has_kl) result.emplace_back("kl", sums.kl / tokens);
  if (sums.has_entropy) result.emplace_back("entropy", sums.entropy / tokens);
  if (!sums.has_sampler) return result;
  result.emplace_back("sampling/logp_difference/mean", sums.logp_difference / tokens);
  result.emplace_back("sampling/logp_difference/max", sums.logp_difference_max);
  result.emplace_back("sampling/importance_ratio/min", finite(sums.weight_min));
  result.emplace_back("sampling/importance_ratio/mean", sums.weight / std::max(sums.weights, 1.0));
  result.emplace_back("sampling/importance_ratio/max", sums.weight_max);
  result.emplace_back("masked/correction", sums.correction_masked / tokens);
  return result;
}

}  // namespace nereus::rl
