#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::rl {

/// A reward, or none where the verifier gave up on a completion.
using Reward = std::optional<double>;

/// Mean and sample deviation (n - 1) of the rewards that are present.
struct Moments {
  double mean = 0;
  double deviation = 0;  ///< exactly 0 for equal rewards and for fewer than two
  int64_t present = 0;
  bool equal = true;  ///< no two differ
};
Moments moments(std::span<const Reward> rewards);

/// Weighted sum over the reward functions: `rewards[k]` holds what function k gave each completion. A
/// function without a reward for a completion adds nothing; a completion without any reward stays without.
/// Errors: lists of different length, another number of weights (empty: all 1), a reward that is not finite.
Result<std::vector<Reward>> combine(std::span<const std::vector<Reward>> rewards,
                                    std::span<const double> weights);

}  // namespace nereus::rl
