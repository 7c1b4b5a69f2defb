#include "nereus/rl/entropy.h"

#include <algorithm>
#include <cmath>

namespace nereus::rl {

double applied_coefficient(const EntropyControl& control, const EntropyControlOptions& options) {
  return control.last_entropy <= options.target ? control.coefficient : 0.0;
}

void update(EntropyControl& control, double entropy, const EntropyControlOptions& options) {
  const double change = entropy <= options.target ? options.step : -options.step;
  control.coefficient = std::clamp(control.coefficient + change, options.min, options.max);
  control.last_entropy = entropy;
}

double entropy_threshold(std::vector<float> entropies, double quantile) {
  if (entropies.empty()) return 0.0;
  const double rank = (1.0 - quantile) * static_cast<double>(entropies.size() - 1);
  const auto below = entropies.begin() + static_cast<std::ptrdiff_t>(std::floor(rank));
  std::nth_element(entropies.begin(), below, entropies.end());
  const auto low = static_cast<double>(*below);
  if (below + 1 == entropies.end()) return low;
  const auto high = static_cast<double>(*std::min_element(below + 1, entropies.end()));
  return low + (rank - std::floor(rank)) * (high - low);
}

Status validate(const EntropyControlOptions& options) {
  if (!(options.step > 0)) return fail("entropy.step: {}, expected more than 0", options.step);
  if (!(options.min >= 0 && options.min <= options.max))
    return fail("entropy.min, entropy.max: {} and {}, expected 0 <= min <= max", options.min, options.max);
  if (!(options.target >= 0)) return fail("entropy.target: {}, expected 0 or more", options.target);
  return {};
}

}  // namespace nereus::rl
