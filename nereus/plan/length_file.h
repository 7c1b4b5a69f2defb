#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::plan {

/// Observed lengths, one number of tokens a line; empty lines and those that begin with # are passed over.
/// Error: FILE:LINE with what was found.
Result<std::vector<int32_t>> read_lengths(const std::filesystem::path& file);

/// Scales lengths to a mean, where one is given, cuts them at `limit`, and sorts them. None becomes less
/// than 1.
void fit_lengths(std::vector<int32_t>& lengths, std::optional<double> mean, int64_t limit);

}  // namespace nereus::plan
