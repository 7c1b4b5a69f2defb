#pragma once

#include <string_view>

#include "nereus/text/jinja_ast.h"

namespace nereus::text::jinja {

/// Jinja's test of that name, as in `value is name`, or nullptr.
TestFunction find_test(std::string_view name);

}  // namespace nereus::text::jinja
