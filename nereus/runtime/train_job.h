#pragma once

#include <filesystem>
#include <iosfwd>

#include "nereus/base/result.h"
#include "nereus/config/overrides.h"
#include "nereus/runtime/run_folder.h"

namespace nereus::runtime {

struct TrainCommand {
  std::filesystem::path job_file;
  config::Overrides overrides;
  OnExisting on_existing = OnExisting::refuse;
};

enum class TrainOutcome : uint8_t { finished, interrupted };

/// Runs a training job to its end, with progress on standard error and its numbers in the run's folder. The
/// first SIGINT or SIGTERM finishes the step, saves and returns `interrupted`.
Result<TrainOutcome> train(const TrainCommand& command);

/// Prints the whole job with the documentation of its keys, as a job file, and runs nothing.
Status print_config(const TrainCommand& command, std::ostream& out);

}  // namespace nereus::runtime
