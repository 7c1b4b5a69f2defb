#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/rollout/types.h"
#include "nereus/tasks/dataset.h"

namespace nereus::tasks {

/// One completion to be scored. The pointers outlive the call.
struct RewardInput {
  const Sample* sample = nullptr;
  std::string text;                                 ///< the completion, without special tokens
  const rollout::Completion* completion = nullptr;  ///< its tokens and how it ended
};

/// A value for each completion; absent where there is none (a verifier that gave up): such a completion is
/// left out of its group's statistics.
using RewardValues = std::vector<std::optional<double>>;

/// Scores completions. Not thread-safe: one call at a time.
class Reward {
 public:
  virtual ~Reward() = default;
  /// As in the metric rewards/NAME/mean.
  virtual const std::string& name() const = 0;
  /// One value an input, in order. Error: names the reward and what went wrong.
  virtual Result<RewardValues> score(std::span<const RewardInput> inputs) = 0;
  /// What happened since the last call that did not stop the run, for the log.
  virtual std::vector<std::string> take_warnings() { return {}; }
};

/// The text of a column: a string as it is, a number as JSON writes it.
/// Error: names reward, sample and column, and the columns that there are.
Result<std::string> column_text(const std::string& reward, const Sample& sample, const std::string& column);

}  // namespace nereus::tasks
