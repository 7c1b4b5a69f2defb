#pragma once

#include <filesystem>
#include <string>

#include "nereus/base/result.h"

namespace nereus::config {

/// The whole file. The error names it and says why.
Result<std::string> read_text_file(const std::filesystem::path& file);

}  // namespace nereus::config
