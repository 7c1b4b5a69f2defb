#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "nereus/base/result.h"
#include "nereus/runtime/rollout_source.h"

namespace nereus::runtime {

/// What a checkpoint holds beside the trainer's own state: `state.json`, and `queue.jsonl` with the groups
/// of an asynchronous run that wait to be trained.
struct TrainState {
  int64_t step = 0;        ///< finished steps
  int64_t num_tokens = 0;  ///< trained so far, prompts included
  RolloutState rollouts;
  std::string model_fingerprint;
};

Status write_train_state(const std::filesystem::path& folder, const TrainState& state);
/// Error: names the file and the key that is missing or has another type.
Result<TrainState> read_train_state(const std::filesystem::path& folder);

}  // namespace nereus::runtime
