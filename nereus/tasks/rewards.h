#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/tasks/command_reward.h"
#include "nereus/tasks/reward.h"

namespace nereus::tasks {

/// One reward of a job: the keys of a [[reward]] section.
struct RewardOptions {
  std::string kind = "number_match";  ///< exact_match, number_match, regex, command
  std::string name;                   ///< in metrics; empty: the kind
  double weight = 1.0;                ///< in the sum of all rewards
  std::string column = "answer";      ///< exact_match, number_match: the column with the expected answer
  std::string pattern;     ///< regex: reward 1 where it is found; {column} stands for that column's text
  CommandOptions command;  ///< command
};

std::span<const std::string_view> reward_kinds();

/// Makes a reward; commands run in `folder` (that of the job file).
/// Error: unknown kind, bad pattern, command not found, or a key missing.
Result<std::unique_ptr<Reward>> make_reward(const RewardOptions& options,
                                            const std::filesystem::path& folder);

/// What a list of rewards says about completions.
struct RewardScores {
  std::vector<RewardValues> values;   ///< [rewards][completions]
  std::vector<std::string> warnings;  ///< for the log
};

/// The rewards of a job with their weights. Not thread-safe.
class RewardList {
 public:
  /// Error: no reward, two of one name, or a weight that is not finite.
  static Result<RewardList> make(std::vector<std::unique_ptr<Reward>> rewards, std::vector<double> weights);
  static Result<RewardList> make(const std::vector<RewardOptions>& options,
                                 const std::filesystem::path& folder);

  /// Asks every reward. Error: one failed, answered another number of values than asked, or a value that is
  /// not finite; the message names it.
  Result<RewardScores> score(std::span<const RewardInput> inputs);

  std::vector<std::string> names() const;
  const std::vector<double>& weights() const { return weights_; }
  size_t size() const { return rewards_.size(); }

 private:
  std::vector<std::unique_ptr<Reward>> rewards_;
  std::vector<double> weights_;
};

/// Weighted sum of the rewards of each completion; absent where all of them are.
RewardValues weighted_sum(const RewardScores& scores, std::span<const double> weights);

}  // namespace nereus::tasks
