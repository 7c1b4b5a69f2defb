#pragma once

#include <filesystem>
#include <string>

#include "nereus/base/result.h"

namespace nereus::runtime {

/// The whole file. The error names it and says why.
Result<std::string> read_text(const std::filesystem::path& file);

}  // namespace nereus::runtime
