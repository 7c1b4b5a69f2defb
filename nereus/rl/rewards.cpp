#include "nereus/rl/rewards.h"

#include <algorithm>
#include <cmath>

namespace nereus::rl {
namespace {

Status check(std::span<const std::vector<Reward>> rewards, std::span<const double> weights) {
  if (rewards.empty()) return fail("rewards: no reward function");
  if (!weights.empty() && weights.size() != rewards.size())
    return fail("reward_weights: {} weights for {} reward functions", weights.size(), rewards.size());
  for (size_t k = 0; k < rewards.size(); ++k) {
    if (rewards[k].size() != rewards[0].size())
      return fail("reward function {}: {} rewards for {} completions", k, rewards[k].size(),
                  rewards[0].size());
    for (size_t i = 0; i < rewards[k].size(); ++i)
      if (rewards[k][i] && !std::isfinite(*rewards[k][i]))
        return fail("reward function {}: completion {} has reward {}, expected a finite number or none", k, i,
                    *rewards[k][i]);
  }
  return {};
}

}  // namespace

Moments moments(std::span<const Reward> rewards) {
  std::vector<double> present;
  for (const Reward& reward : rewards)
    if (reward) present.push_back(*reward);
  Moments result;
  result.present = std::ssize(present);
  if (present.empty()) return result;
  const auto [least, greatest] = std::ranges::minmax(present);
  result.equal = least == greatest;
  result.mean = present.front();
  // A rounded mean of equal rewards would leave advantages that are nearly 0 but not 0.
  if (result.equal) return result;
  double sum = 0;
  for (double reward : present) sum += reward;
  result.mean = sum / static_cast<double>(present.size());
  double squares = 0;
  for (double reward : present) squares += (reward - result.mean) * (reward - result.mean);
  result.deviation = std::sqrt(squares / static_cast<double>(present.size() - 1));
  return result;
}

Result<std::vector<Reward>> combine(std::span<const std::vector<Reward>> rewards,
                                    std::span<const double> weights) {
  if (auto status = check(rewards, weights); !status) return pass(status);
  std::vector<Reward> combined(rewards[0].size());
  for (size_t k = 0; k < rewards.size(); ++k) {
    const double weight = weights.empty() ? 1.0 : weights[k];
    for (size_t i = 0; i < combined.size(); ++i)
      if (rewards[k][i]) combined[i] = combined[i].value_or(0.0) + weight * *rewards[k][i];
  }
  return combined;
}

}  // namespace nereus::rl
