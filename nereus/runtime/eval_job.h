#pragma once

#include <filesystem>

#include "nereus/base/result.h"
#include "nereus/config/overrides.h"
#include "nereus/runtime/evaluation_result.h"

namespace nereus::runtime {

struct EvalCommand {
  std::filesystem::path job{};  ///< a job file, or a run's folder: then with what the run has trained
  config::Overrides overrides{};
  std::filesystem::path adapter{};  ///< instead of the run's
};

/// Scores a model on the held-out prompts of a job, with progress on standard error.
Result<Evaluation> evaluate(const EvalCommand& command);

}  // namespace nereus::runtime
