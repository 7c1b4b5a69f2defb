#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "nereus/base/result.h"

namespace nereus {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

/// Parses one JSON value. Never throws: an error names `source` (a file, or "FILE:LINE") and the position.
/// Nesting deeper than 256 levels is an error. Keys keep no order; `parse_ordered_json` keeps it.
Result<Json> parse_json(std::string_view text, std::string_view source);
Result<OrderedJson> parse_ordered_json(std::string_view text, std::string_view source);

}  // namespace nereus
