#pragma once

#include <string_view>

#include "nereus/text/jinja_value.h"

namespace nereus::text::jinja {

using Method = Value (*)(const Value& object, const Arguments& arguments, Budget& budget);

/// The method of Python's str, or nullptr.
Method find_string_method(std::string_view name);

/// Lines without their ends, cut as str.splitlines cuts.
std::vector<std::string> split_lines(std::string_view text, bool keep_ends = false);
std::string replace(std::string_view text, std::string_view old, std::string_view with, int64_t count,
                    Budget& budget);
/// In the middle of `width` characters.
std::string center(const std::string& text, int64_t width, char32_t fill, Budget& budget);

}  // namespace nereus::text::jinja
