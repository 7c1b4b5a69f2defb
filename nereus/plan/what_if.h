#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/cluster/cluster.h"
#include "nereus/config/overrides.h"
#include "nereus/plan/job.h"
#include "nereus/plan/report.h"

namespace nereus::plan {

/// Other values than those of the files.
struct WhatIf {
  std::string words;               ///< as typed
  std::optional<int32_t> devices;  ///< of the cluster
  config::Overrides cluster, job;  ///< keys of the two files
};

/// Reads "devices=64", "mean_length=4096", "max_length=8192", "prompts=256", "completions=16", and any key of
/// the two files as "lengths.prompt=1024" or "machine.0.count=4".
Result<WhatIf> parse_what_if(const std::vector<std::string>& settings);

struct Inputs {
  cluster::Cluster cluster;
  Job job;
};
/// Reads both files with the other values set.
Result<Inputs> read_inputs(const std::filesystem::path& cluster_file, const std::filesystem::path& job_file,
                           const WhatIf& what_if = {});

/// The best plan for `inputs`, and what becomes of the present best one.
WhatIfReport answer(const WhatIf& what_if, const Inputs& inputs, const Report& now,
                    const Calibration& calibration, const SearchOptions& options, const Clock& clock);

}  // namespace nereus::plan
