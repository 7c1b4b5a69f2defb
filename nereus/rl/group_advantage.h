#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nereus/rl/rewards.h"

namespace nereus::rl {

/// What the distance to the group's mean is divided by: the group's deviation, that of the whole batch
/// (arXiv:2508.08221), or nothing (Dr. GRPO, arXiv:2503.20783).
enum class ScaleRewards { group, batch, none };
inline constexpr std::array<std::string_view, 3> kScaleRewards{"group", "batch", "none"};

/// GRPO (Shao et al., "DeepSeekMath", arXiv:2402.03300): (reward - mean of the group) / (deviation +
/// epsilon). Group after group; absent rewards get 0. REQUIRES: sizes add up to the number of rewards.
std::vector<double> group_advantage(std::span<const Reward> rewards, std::span<const int64_t> sizes,
                                    ScaleRewards scale, double epsilon);

/// GDPO (arXiv:2601.05242): every reward function is normalised within its group, weighted and summed, and
/// the sum is normalised over the batch. `rewards[k]` belongs to function k; empty `weights` are all 1.
std::vector<double> decoupled_advantage(std::span<const std::vector<Reward>> rewards,
                                        std::span<const int64_t> sizes, std::span<const double> weights,
                                        double epsilon);

/// RLOO (Ahmadian et al., arXiv:2402.14740): reward - mean of the others in the group.
std::vector<double> leave_one_out_advantage(std::span<const Reward> rewards, std::span<const int64_t> sizes);

}  // namespace nereus::rl
