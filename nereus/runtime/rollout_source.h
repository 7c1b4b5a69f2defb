#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/metrics/record.h"
#include "nereus/runtime/scoring.h"

namespace nereus::runtime {

/// Where a source of rollouts stands, for a checkpoint.
struct RolloutState {
  uint64_t cursor = 0;  ///< place in the data stream
  int64_t skipped_prompts = 0;
  std::vector<uint64_t> unfinished;  ///< prompts before the cursor that were not trained nor are in `queued`
  std::vector<Json> queued;          ///< groups that wait to be trained (group_json)
};

/// Whether the run is to end: what waits for others then waits no longer.
using Interrupted = std::function<bool()>;

/// Where the completions of a step come from. Called by the training thread only.
class RolloutSource {
 public:
  virtual ~RolloutSource() = default;

  /// Before the first `next`: goes on where a checkpoint stood, with the policy of `version`.
  virtual Status start(const RolloutState& state, int64_t version, const Interrupted& interrupted) = 0;
  /// The completions of the next step, scored; nothing where the run was interrupted while it waited for
  /// others. Writes times and queue figures to `record`.
  virtual Result<std::optional<ScoredRollouts>> next(metrics::Record& record,
                                                     const Interrupted& interrupted) = 0;
  /// The policy is trained: its weights are now those of `version`.
  virtual Status trained(int64_t version) = 0;
  virtual RolloutState state() const = 0;
};

}  // namespace nereus::runtime
