#pragma once

#include <string>
#include <string_view>

#include "nereus/text/jinja_value.h"

namespace nereus::text::jinja {

/// Python's `format % value`: %s %r %d %i %u %x %X %o %c %e %f %g and %%, flags, width, precision, %(name)s.
std::string percent_format(std::string_view format, const Value& value, Budget& budget);
/// Python's `format.format(...)`: fields by position or name with attributes, items, !r and !s, and the usual
/// format specifications.
std::string brace_format(std::string_view format, const Arguments& arguments, Budget& budget);

}  // namespace nereus::text::jinja
