#pragma once

#include <filesystem>

#include "nereus/base/json.h"
#include "nereus/base/result.h"

namespace nereus::formats {

/// One JSON value from a file; errors name the file and the position.
Result<Json> read_json_file(const std::filesystem::path& path);

/// Written atomically, indented by two spaces, with a line end.
Status write_json_file(const std::filesystem::path& path, const OrderedJson& value);

}  // namespace nereus::formats
