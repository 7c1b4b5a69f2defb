#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "nereus/base/result.h"
#include "nereus/config/overrides.h"
#include "nereus/config/schema.h"
#include "nereus/plan/job.h"

namespace nereus::plan {

enum class Algorithm : uint8_t { grpo, ppo };

/// [actor], [critic], [reference], [reward]: the job has the models that are named.
struct ModelSection {
  std::string model;      ///< a known name, or the path of a config.json or of its folder
  int32_t lora_rank = 0;  ///< of actor and critic; 0: all weights are trained
};

/// [lengths], in tokens
struct LengthSection {
  int64_t prompt = 512;
  std::filesystem::path file;                      ///< responses, one length a line; empty: a lognormal
  std::optional<double> mean_response, variation;  ///< absent: those of the file; without one 1024 and 0.8
  int64_t max_response = 4096;
};

/// A planner's job file as it stands. `job` has the values of [job]; its models and lengths are those below.
struct JobSections {
  Algorithm algorithm = Algorithm::grpo;
  Job job;
  ModelSection actor, critic, reference, reward;
  LengthSection lengths;
};

/// What a planner's job file may say.
config::Schema<JobSections> job_schema();
/// Tables of all keys in Markdown, for docs/cluster-files.md.
std::string job_reference();

/// Reads a planner's job file; relative paths in it are relative to its folder. `overrides` are set after it
/// ("lengths.mean_response", "4096"), their paths are relative to the working directory. Error: FILE:LINE (or
/// --key) with the key and what was expected; unknown keys and models with the nearest known name.
Result<Job> read_job(const std::filesystem::path& file, const config::Overrides& overrides = {});
/// The same from text; `source` names it in errors, `folder` is that of relative paths.
Result<Job> parse_job(std::string_view text, const std::string& source, const std::filesystem::path& folder,
                      const config::Overrides& overrides = {});

}  // namespace nereus::plan
