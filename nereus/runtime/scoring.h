#pragma once

#include <string>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/metrics/record.h"
#include "nereus/rollout/types.h"
#include "nereus/runtime/job.h"
#include "nereus/runtime/prompts.h"
#include "nereus/tasks/rewards.h"

namespace nereus::runtime {

/// The rewards of a job. Error: as tasks::make_reward, with the number of the [[reward]].
Result<tasks::RewardList> make_rewards(const std::vector<RewardSection>& sections);

/// Groups with the texts and the rewards of their completions. All lists run over the completions, group
/// after group.
struct ScoredRollouts {
  std::vector<Prompt> prompts;
  std::vector<rollout::Group> groups;  ///< one a prompt
  std::vector<std::string> texts;
  std::vector<tasks::RewardValues> values;  ///< [rewards][completions]
  tasks::RewardValues rewards;              ///< weighted sums
  std::vector<std::string> warnings;

  /// Appends another batch.
  void append(ScoredRollouts other);
  /// One group as a batch of its own. Copies.
  ScoredRollouts group(size_t index) const;
  /// Rewards of group `index`, as a part of `rewards`.
  std::span<const std::optional<double>> group_rewards(size_t index) const;
  /// The group with what each reward function said, for the trainer. Copies.
  train::ScoredGroup scored_group(size_t index) const;

 private:
  size_t first_completion(size_t group) const;
};

/// Decodes each completion once and asks the rewards.
Result<ScoredRollouts> score(std::vector<Prompt> prompts, std::vector<rollout::Group> groups,
                             tasks::RewardList& rewards, const text::Tokenizer& tokenizer,
                             const std::vector<std::string>& stops);

/// Lengths, rewards and their spread, by the names of docs/metrics.md.
metrics::Record rollout_metrics(const ScoredRollouts& rollouts, const std::vector<std::string>& reward_names);

/// One line of JSON a completion, for people and for tools: prompt, text, ids, rewards, how it ended.
std::vector<std::string> completion_lines(const ScoredRollouts& rollouts,
                                          const std::vector<std::string>& reward_names, int64_t step);

}  // namespace nereus::runtime
