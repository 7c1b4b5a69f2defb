#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/rl/rewards.h"

namespace nereus::rl {

/// Tokens of the completions, one flat list, for algorithms that give each token its own advantage.
struct TokenDetail {
  std::vector<int64_t> lengths = {};  ///< [completions] tokens of each
  std::vector<float> kl = {};         ///< [tokens] log p_policy - log p_reference (k1); empty: 0
  std::vector<float> mask = {};       ///< [tokens] 1 on the model's own, trained tokens, else 0; empty: all 1
};

/// Refuses lists that do not fit each other or `completions`.
Status check_tokens(const TokenDetail& tokens, size_t completions);

/// Rewards of tokens as PPO has them (Ouyang et al., arXiv:2203.02155): -kl_coef * kl on each active token,
/// and the completion's score on its last active token; 0 elsewhere. An absent score counts as 0. REQUIRES:
/// check_tokens holds.
std::vector<float> token_rewards(std::span<const Reward> scores, const TokenDetail& tokens, double kl_coef);

/// REINFORCE++ (Hu et al., arXiv:2501.03262): each token's reward to go, whitened over the batch. Completions
/// without a score are left out and get 0. REQUIRES: check_tokens holds.
std::vector<float> reward_to_go_advantage(std::span<const Reward> scores, const TokenDetail& tokens,
                                          double kl_coef);

/// (value - mean) / sqrt(variance + 1e-8) over the values with mask 1 (sample variance); 0 elsewhere.
/// Fewer than two values, or equal ones, become 0.
void whiten(std::span<float> values, std::span<const float> mask);

}  // namespace nereus::rl
