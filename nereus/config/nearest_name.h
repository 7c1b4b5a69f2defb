#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::config {

/// The one of `known` that `name` was probably meant to be, for "did you mean": that of the fewest edits,
/// where those are at most half of its last part. A name with dots that is right but for its section counts
/// as one edit. Nothing where none is close.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace nereus::config
