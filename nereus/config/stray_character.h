#pragma once

#include <cstddef>
#include <string_view>

namespace nereus::config {

/// The line of the first byte that TOML allows in quotes and comments alone (control characters but tab and
/// line ends, and all that is not ASCII) and that stands elsewhere, or first behind a backslash with the
/// spaces and line ends after it; 0 where there is none.
size_t line_of_stray_character(std::string_view text);

}  // namespace nereus::config
