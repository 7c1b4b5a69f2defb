#include "nereus/rl/gae.h"

#include "nereus/rl/token_rewards.h"

namespace nereus::rl {

Gae gae(std::span<const float> rewards, std::span<const float> values, std::span<const float> mask,
        std::span<const int64_t> lengths, const GaeOptions& options) {
  Gae result{std::vector<float>(values.size()), std::vector<float>(values.size())};
  size_t begin = 0;
  for (int64_t length : lengths) {
    const size_t end = begin + static_cast<size_t>(length);
    double next_value = 0;
    double running = 0;
    for (size_t t = end; t-- > begin;) {
      const auto value = static_cast<double>(values[t]);
      if (mask[t] != 0.0F) {
        const double error = static_cast<double>(rewards[t]) + options.gamma * next_value - value;
        running = error + options.gamma * options.lambda * running;
        next_value = value;
      }
      result.advantages[t] = static_cast<float>(running);
      result.returns[t] = static_cast<float>(running + value);
    }
    begin = end;
  }
  if (options.whiten) whiten(result.advantages, mask);
  return result;
}

}  // namespace nereus::rl
