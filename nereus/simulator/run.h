#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/config/overrides.h"
#include "nereus/simulator/report.h"

namespace nereus::simulator {

/// What `nereus simulate FILE` is asked.
struct RunOptions {
  std::filesystem::path file;
  config::Overrides overrides;        ///< keys of the file
  std::optional<int64_t> seeds;       ///< in place of the file's
  std::vector<std::string> policies;  ///< in place of the file's, where given
  std::filesystem::path html;         ///< where to write the page; empty: nowhere
  /// Told before each run: policy, seed, done, all.
  std::function<void(const std::string&, uint64_t, int64_t, int64_t)> progress;
};

/// Runs every policy under every seed, one after the other, and writes the page. Errors: of the file, of a
/// trace that it names, unknown policies, a page that cannot be written.
Result<SimulationReport> run(const RunOptions& options);

}  // namespace nereus::simulator
