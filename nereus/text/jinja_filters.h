#pragma once

#include <string_view>

#include "nereus/text/jinja_ast.h"

namespace nereus::text::jinja {

/// Jinja's filter of that name, or nullptr. Those that give a generator in Python give a list here.
FilterFunction find_filter(std::string_view name);

/// The part of them that works on sequences and mappings.
FilterFunction find_sequence_filter(std::string_view name);

}  // namespace nereus::text::jinja
