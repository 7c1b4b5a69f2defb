#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "nereus/base/result.h"

namespace nereus::runtime {

/// What a checkpoint holds beside the trainer's own state: `state.json`.
struct TrainState {
  int64_t step = 0;     ///< finished steps
  uint64_t cursor = 0;  ///< place in the data stream
  int64_t skipped_prompts = 0;
  int64_t num_tokens = 0;  ///< trained so far, prompts included
  std::string model_fingerprint;
};

Status write_train_state(const std::filesystem::path& folder, const TrainState& state);
/// Error: names the file and the key that is missing or has another type.
Result<TrainState> read_train_state(const std::filesystem::path& folder);

}  // namespace nereus::runtime
