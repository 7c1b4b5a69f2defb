#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/rl/group_advantage.h"
#include "nereus/rl/rewards.h"
#include "nereus/rl/token_rewards.h"

namespace nereus::rl {

enum class AdvantageKind { grpo, rloo, reinforce_pp, reinforce_pp_baseline };
enum class MultiReward { sum_then_normalize, normalize_then_sum };

/// Names of the values above as a configuration writes them, in the order of the enumerators.
inline constexpr std::array<std::string_view, 4> kAdvantageKinds{"grpo", "rloo", "reinforce_pp",
                                                                 "reinforce_pp_baseline"};
inline constexpr std::array<std::string_view, 2> kMultiRewards{"sum_then_normalize", "normalize_then_sum"};

struct AdvantageOptions {
  AdvantageKind kind = AdvantageKind::grpo;
  ScaleRewards scale = ScaleRewards::group;  ///< what grpo divides by; dr_grpo aggregation goes with `none`
  double epsilon = 1e-4;                     ///< added to the deviation
  MultiReward combine = MultiReward::sum_then_normalize;  ///< of several reward functions; grpo only
  std::vector<double> reward_weights = {};                ///< one a reward function; empty: all 1
  double kl_coef = 0.0;  ///< of the KL in the token rewards of the reinforce_pp kinds
};

struct Advantages {
  std::vector<float> values = {};  ///< [completions], group after group; 0 where the reward is absent
  std::vector<float> token_values =
      {};                            ///< [tokens]; only of the reinforce_pp kinds, whose `values` are empty
  std::vector<Reward> rewards = {};  ///< [completions] weighted sum over the functions
  double reward_mean = 0;            ///< over the rewards that are present
  double reward_std = 0;             ///< the same, sample deviation; 0 for fewer than two
  double frac_reward_zero_std = 0;   ///< fraction of groups whose rewards are all equal (or all absent)
  int64_t absent = 0;                ///< completions without any reward
};

/// Advantages of whole groups.
/// `rewards[k]` holds what reward function k gave each completion, group after group; `sizes` the completions
/// of each group. A completion that no function rewarded is left out of mean and deviation and has advantage
/// 0. All advantages of a group with equal rewards are exactly 0 (but for reinforce_pp, which has no groups).
/// `tokens` is read by the reinforce_pp kinds only.
/// Errors: counts that do not fit, a group of one, a reward that is not finite, weights of another number.
Result<Advantages> advantages(std::span<const std::vector<Reward>> rewards, std::span<const int64_t> sizes,
                              const AdvantageOptions& options, const TokenDetail& tokens = {});

/// Refuses what cannot work, naming the key: a group size below 2, weights that do not match the number of
/// reward functions, an option that the algorithm does not have.
Status validate(const AdvantageOptions& options, int64_t group_size, size_t reward_functions);

}  // namespace nereus::rl
