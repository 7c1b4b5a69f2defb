#include "nereus/rl/token_rewards.h"

#include <numeric>

namespace nereus::rl {
namespace {

bool is_active(const TokenDetail& tokens, size_t t) {
  return tokens.mask.empty() || tokens.mask[t] != 0.0F;
}

}  // namespace

Status check_tokens(const TokenDetail& tokens, size_t completions) {
  if (tokens.lengths.size() != completions)
    return fail("tokens: {} lengths for {} completions", tokens.lengths.size(), completions);
  for (int64_t length : tokens.lengths)
    if (length < 0) return fail("tokens: length {} is negative", length);
  const auto total = std::accumulate(tokens.lengths.begin(), tokens.lengths.end(), int64_t{0});
  for (const auto& [name, size] : {std::pair{"kl", tokens.kl.size()}, std::pair{"mask", tokens.mask.size()}})
    if (size != 0 && static_cast<int64_t>(size) != total)
      return fail("tokens: {} values of {} for {} tokens", size, name, total);
  return {};
}

std::vector<float> token_rewards(std::span<const Reward> scores, const TokenDetail& tokens, double kl_coef) {
  std::vector<float> rewards;
  for (size_t i = 0; i < tokens.lengths.size(); ++i) {
    const size_t begin = rewards.size();
    rewards.resize(begin + static_cast<size_t>(tokens.lengths[i]), 0.0F);
    size_t last = rewards.size();
    for (size_t t = begin; t < rewards.size(); ++t) {
      if (!is_active(tokens, t)) continue;
      if (!tokens.kl.empty()) rewards[t] = static_cast<float>(-kl_coef * static_cast<double>(tokens.kl[t]));
      last = t;
    }
    if (last < rewards.size()) rewards[last] += static_cast<float>(scores[i].value_or(0.0));
  }
  return rewards;
}

std::vector<float> reward_to_go_advantage(std::span<const Reward> scores, const TokenDetail& tokens,
                                          double kl_coef) {
  std::vector<float> values = token_rewards(scores, tokens, kl_coef);
  std::vector<float> mask(values.size(), 0.0F);
  size_t begin = 0;
  for (size_t i = 0; i < tokens.lengths.size(); ++i) {
    const size_t end = begin + static_cast<size_t>(tokens.lengths[i]);
    double to_go = 0;
    for (size_t t = end; t-- > begin;) {
      to_go += static_cast<double>(values[t]);
      values[t] = static_cast<float>(to_go);
      mask[t] = scores[i] && is_active(tokens, t) ? 1.0F : 0.0F;
    }
    begin = end;
  }
  whiten(values, mask);
  return values;
}

}  // namespace nereus::rl
