#include "nereus/rl/group_advantage.h"

namespace nereus::rl {

std::vector<double> group_advantage(std::span<const Reward> rewards, std::span<const int64_t> sizes,
                                    ScaleRewards scale, double epsilon) {
  std::vector<double> result(rewards.size(), 0.0);
  const double batch_deviation = moments(rewards).deviation;
  size_t begin = 0;
  for (int64_t size : sizes) {
    const size_t end = begin + static_cast<size_t>(size);
    const Moments group = moments(rewards.subspan(begin, end - begin));
    const double deviation = scale == ScaleRewards::group ? group.deviation : batch_deviation;
    const double divisor = scale == ScaleRewards::none ? 1.0 : deviation + epsilon;
    for (size_t i = begin; i < end; ++i)
      if (rewards[i] && !group.equal) result[i] = (*rewards[i] - group.mean) / divisor;
    begin = end;
  }
  return result;
}

std::vector<double> leave_one_out_advantage(std::span<const Reward> rewards, std::span<const int64_t> sizes) {
  std::vector<double> result(rewards.size(), 0.0);
  size_t begin = 0;
  for (int64_t size : sizes) {
    const size_t end = begin + static_cast<size_t>(size);
    const Moments group = moments(rewards.subspan(begin, end - begin));
    // r - (n mean - r) / (n - 1) = (r - mean) n / (n - 1)
    const auto count = static_cast<double>(group.present);
    for (size_t i = begin; i < end; ++i)
      if (rewards[i] && !group.equal) result[i] = (*rewards[i] - group.mean) * count / (count - 1);
    begin = end;
  }
  return result;
}

}  // namespace nereus::rl
