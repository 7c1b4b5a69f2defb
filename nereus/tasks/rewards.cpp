#include "nereus/tasks/rewards.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "nereus/tasks/match_rewards.h"

namespace nereus::tasks {
namespace {

constexpr std::array<std::string_view, 4> kKinds = {"exact_match", "number_match", "regex", "command"};

Status check_values(const std::string& name, const RewardValues& values, size_t asked) {
  if (values.size() != asked)
    return fail("reward \"{}\" gave {} values for {} completions; expected one each", name, values.size(),
                asked);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] && !std::isfinite(*values[i]))
      return fail("reward \"{}\" gave {} for completion {}; expected a finite number", name, *values[i], i);
  return {};
}

}  // namespace

std::span<const std::string_view> reward_kinds() {
  return kKinds;
}

Result<std::unique_ptr<Reward>> make_reward(const RewardOptions& options,
                                            const std::filesystem::path& folder) {
  const std::string name = options.name.empty() ? options.kind : options.name;
  if (options.kind == "exact_match") return make_exact_match(name, options.column);
  if (options.kind == "number_match") return make_number_match(name, options.column);
  if (options.kind == "regex") return make_regex_match(name, options.pattern);
  if (options.kind == "command") return make_command_reward(name, options.command, folder);
  return fail("reward \"{}\": unknown kind \"{}\"; expected one of {}", name, options.kind,
              fmt::join(kKinds, ", "));
}

Result<RewardList> RewardList::make(std::vector<std::unique_ptr<Reward>> rewards,
                                    std::vector<double> weights) {
  if (rewards.empty()) return fail("expected at least one reward");
  if (weights.size() != rewards.size())
    return fail("{} rewards have {} weights; expected one each", rewards.size(), weights.size());
  RewardList list;
  for (size_t i = 0; i < rewards.size(); ++i) {
    const std::string& name = rewards[i]->name();
    if (std::ranges::count(list.names(), name) > 0)
      return fail("two rewards have the name \"{}\"; expected each to have its own", name);
    if (!std::isfinite(weights[i]))
      return fail("reward \"{}\": expected a finite weight, not {}", name, weights[i]);
    list.rewards_.push_back(std::move(rewards[i]));
  }
  list.weights_ = std::move(weights);
  return list;
}

Result<RewardList> RewardList::make(const std::vector<RewardOptions>& options,
                                    const std::filesystem::path& folder) {
  std::vector<std::unique_ptr<Reward>> rewards;
  std::vector<double> weights;
  for (const RewardOptions& one : options) {
    auto reward = make_reward(one, folder);
    if (!reward) return pass(reward);
    rewards.push_back(std::move(*reward));
    weights.push_back(one.weight);
  }
  return make(std::move(rewards), std::move(weights));
}

Result<RewardScores> RewardList::score(std::span<const RewardInput> inputs) {
  RewardScores scores;
  for (const auto& reward : rewards_) {
    auto values = reward->score(inputs);
    if (!values) return pass(values);
    if (auto status = check_values(reward->name(), *values, inputs.size()); !status) return pass(status);
    scores.values.push_back(std::move(*values));
    for (std::string& warning : reward->take_warnings()) scores.warnings.push_back(std::move(warning));
  }
  return scores;
}

std::vector<std::string> RewardList::names() const {
  std::vector<std::string> names;
  for (const auto& reward : rewards_) names.push_back(reward->name());
  return names;
}

RewardValues weighted_sum(const RewardScores& scores, std::span<const double> weights) {
  RewardValues sums(scores.values.empty() ? 0 : scores.values.front().size());
  for (size_t k = 0; k < scores.values.size(); ++k)
    for (size_t i = 0; i < sums.size(); ++i)
      if (scores.values[k][i]) sums[i] = sums[i].value_or(0.0) + weights[k] * *scores.values[k][i];
  return sums;
}

}  // namespace nereus::tasks
