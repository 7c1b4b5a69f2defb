#pragma once

#include <string_view>

#include "nereus/text/jinja_ast.h"

namespace nereus::text::jinja {

/// Parses a template. Throws Failure with a line: broken syntax, unknown tags, and unknown filters and tests,
/// unless they stand under a condition (as in Jinja, those are errors only where they are reached).
Template parse(std::string_view source, std::string_view name);

}  // namespace nereus::text::jinja
