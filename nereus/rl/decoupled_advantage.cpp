#include "nereus/rl/group_advantage.h"

namespace nereus::rl {
namespace {

// A group in which no function tells its completions apart has nothing to teach, wherever the batch's mean
// is.
void clear_equal_groups(std::span<const std::vector<Reward>> rewards, std::span<const int64_t> sizes,
                        std::vector<double>& result) {
  size_t begin = 0;
  for (int64_t size : sizes) {
    const auto count = static_cast<size_t>(size);
    bool equal = true;
    for (const auto& of_function : rewards)
      equal = equal && moments(std::span(of_function).subspan(begin, count)).equal;
    for (size_t i = begin; equal && i < begin + count; ++i) result[i] = 0.0;
    begin += count;
  }
}

}  // namespace

std::vector<double> decoupled_advantage(std::span<const std::vector<Reward>> rewards,
                                        std::span<const int64_t> sizes, std::span<const double> weights,
                                        double epsilon) {
  std::vector<Reward> sum(rewards[0].size());
  for (size_t k = 0; k < rewards.size(); ++k) {
    const std::vector<double> normalised = group_advantage(rewards[k], sizes, ScaleRewards::group, epsilon);
    const double weight = weights.empty() ? 1.0 : weights[k];
    for (size_t i = 0; i < sum.size(); ++i)
      if (rewards[k][i]) sum[i] = sum[i].value_or(0.0) + weight * normalised[i];
  }
  const Moments batch = moments(sum);
  std::vector<double> result(sum.size(), 0.0);
  for (size_t i = 0; i < sum.size(); ++i)
    if (sum[i] && !batch.equal) result[i] = (*sum[i] - batch.mean) / (batch.deviation + epsilon);
  clear_equal_groups(rewards, sizes, result);
  return result;
}

}  // namespace nereus::rl
