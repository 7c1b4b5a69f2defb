#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/config/overrides.h"
#include "nereus/runtime/job.h"

namespace nereus::runtime {

/// Reads a job file. Relative paths in it are relative to its folder, those of `overrides` to the working
/// directory. Error: FILE:LINE (or --key) with what was expected; unknown keys with the nearest known one.
Result<Job> read_job(const std::filesystem::path& file, const config::Overrides& overrides);

/// The same from text; `source` names it in errors, `folder` is that of relative paths.
Result<Job> parse_job(std::string_view text, const std::string& source, const std::filesystem::path& folder,
                      const config::Overrides& overrides);

/// The job as a file that reads back as the same job. `documented` adds each key's documentation.
std::string job_text(const Job& job, bool documented = false);

/// Names of keys whose values differ, with both values: "train.learning_rate: 1e-05, was 0.0002".
std::vector<std::string> differences(const Job& now, const Job& before);

}  // namespace nereus::runtime
