#include <cmath>

#include "nereus/rl/token_rewards.h"

namespace nereus::rl {

void whiten(std::span<float> values, std::span<const float> mask) {
  double sum = 0;
  double count = 0;
  float first = 0;
  bool equal = true;
  for (size_t t = 0; t < values.size(); ++t) {
    if (mask[t] == 0.0F) continue;
    if (count == 0) first = values[t];
    equal = equal && values[t] == first;
    sum += static_cast<double>(values[t]);
    ++count;
  }
  const double mean = count > 0 ? sum / count : 0.0;
  double squares = 0;
  for (size_t t = 0; t < values.size(); ++t)
    if (mask[t] != 0.0F) squares += std::pow(static_cast<double>(values[t]) - mean, 2);
  const double scale = equal ? 0.0 : 1.0 / std::sqrt(squares / (count - 1) + 1e-8);
  for (size_t t = 0; t < values.size(); ++t)
    values[t] = mask[t] == 0.0F ? 0.0F : static_cast<float>((static_cast<double>(values[t]) - mean) * scale);
}

}  // namespace nereus::rl
