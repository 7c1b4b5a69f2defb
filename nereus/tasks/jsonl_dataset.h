#pragma once

#include <filesystem>
#include <memory>

#include "nereus/base/result.h"
#include "nereus/tasks/dataset.h"

namespace nereus::tasks {

/// Opens a JSON Lines file: each line an object with "prompt" (a text, or an array of messages) or "messages"
/// (an array); all other columns go to the rewards. Blank lines are skipped. Every line is checked now, and
/// only the lines' places stay in memory. Error: FILE:LINE with what was expected; a file without samples is
/// one too.
Result<std::unique_ptr<Dataset>> open_jsonl_dataset(const std::filesystem::path& path);

}  // namespace nereus::tasks
