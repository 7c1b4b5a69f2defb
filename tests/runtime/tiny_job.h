#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/runtime/train_job.h"
#include "tests/runtime/tiny_model.h"

namespace nereus::runtime {

/// A job over the model in the folder "tiny": additions, 2 prompts × 4 completions of at most 6 tokens, LoRA
/// of rank 4. `run` are lines of [run] besides its folder, `more` further sections.
std::string tiny_job(const std::string& run, const std::string& more = "");

std::vector<OrderedJson> lines_of(const std::filesystem::path& file);

/// Runs of `nereus train`, in this process, in a folder with a tiny model and a job.
class TinyRuns : public ::testing::Test {
 protected:
  explicit TinyRuns(const std::string& job);

  Result<TrainOutcome> try_run(const std::string& name, config::Overrides overrides,
                               OnExisting on_existing = OnExisting::refuse) const;
  /// The run's folder.
  std::filesystem::path run(const std::string& name, config::Overrides overrides = {},
                            OnExisting on_existing = OnExisting::refuse) const;
  std::filesystem::path folder(const std::string& name) const { return scratch_.path() / "runs" / name; }

  ScratchFolder scratch_;
};

}  // namespace nereus::runtime
