#include "nereus/rl/advantages.h"

#include "nereus/rl/groups.h"

namespace nereus::rl {
namespace {

bool is_per_token(AdvantageKind kind) {
  return kind == AdvantageKind::reinforce_pp || kind == AdvantageKind::reinforce_pp_baseline;
}

void describe(std::span<const int64_t> sizes, Advantages& result) {
  const Moments batch = moments(result.rewards);
  result.reward_mean = batch.mean;
  result.reward_std = batch.deviation;
  result.absent = std::ssize(result.rewards) - batch.present;
  size_t begin = 0;
  double equal = 0;
  for (int64_t size : sizes) {
    const auto count = static_cast<size_t>(size);
    if (moments(std::span(result.rewards).subspan(begin, count)).equal) ++equal;
    begin += count;
  }
  if (!sizes.empty()) result.frac_reward_zero_std = equal / static_cast<double>(sizes.size());
}

// Rewards minus the mean of their group.
std::vector<Reward> centred(std::span<const Reward> rewards, std::span<const int64_t> sizes) {
  const std::vector<double> differences = group_advantage(rewards, sizes, ScaleRewards::none, 0.0);
  std::vector<Reward> result(rewards.begin(), rewards.end());
  for (size_t i = 0; i < result.size(); ++i)
    if (result[i]) result[i] = differences[i];
  return result;
}

std::vector<float> narrow(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

Result<Advantages> advantages(std::span<const std::vector<Reward>> rewards, std::span<const int64_t> sizes,
                              const AdvantageOptions& options, const TokenDetail& tokens) {
  auto combined = combine(rewards, options.reward_weights);
  if (!combined) return pass(combined);
  if (auto status = check_groups(sizes, std::ssize(*combined)); !status) return pass(status);
  if (is_per_token(options.kind))
    if (auto status = check_tokens(tokens, combined->size()); !status) return pass(status);

  Advantages result;
  result.rewards = std::move(*combined);
  describe(sizes, result);
  switch (options.kind) {
    case AdvantageKind::grpo:
      result.values =
          narrow(options.combine == MultiReward::normalize_then_sum
                     ? decoupled_advantage(rewards, sizes, options.reward_weights, options.epsilon)
                     : group_advantage(result.rewards, sizes, options.scale, options.epsilon));
      break;
    case AdvantageKind::rloo:
      result.values = narrow(leave_one_out_advantage(result.rewards, sizes));
      break;
    case AdvantageKind::reinforce_pp:
      result.token_values = reward_to_go_advantage(result.rewards, tokens, options.kl_coef);
      break;
    case AdvantageKind::reinforce_pp_baseline:
      result.token_values = reward_to_go_advantage(centred(result.rewards, sizes), tokens, options.kl_coef);
      break;
  }
  return result;
}

Status validate(const AdvantageOptions& options, int64_t group_size, size_t reward_functions) {
  if (group_size < 2)
    return fail("group_size: {}, expected at least 2: advantages compare the completions of a prompt",
                group_size);
  if (reward_functions == 0) return fail("rewards: expected at least one reward function");
  if (!options.reward_weights.empty() && options.reward_weights.size() != reward_functions)
    return fail("reward_weights: {} weights for {} reward functions", options.reward_weights.size(),
                reward_functions);
  if (!(options.epsilon >= 0)) return fail("epsilon: {}, expected 0 or more", options.epsilon);
  if (!(options.kl_coef >= 0)) return fail("kl_coef: {}, expected 0 or more", options.kl_coef);
  if (options.kl_coef > 0 && !is_per_token(options.kind))
    return fail("kl_coef: only reinforce_pp and reinforce_pp_baseline have the KL in the reward; use beta");
  if (options.combine == MultiReward::normalize_then_sum && options.kind != AdvantageKind::grpo)
    return fail("combine: normalize_then_sum is defined for grpo advantages only");
  if (options.combine == MultiReward::normalize_then_sum && options.scale != ScaleRewards::group)
    return fail("scale: normalize_then_sum fixes the scaling, expected group");
  return {};
}

}  // namespace nereus::rl
