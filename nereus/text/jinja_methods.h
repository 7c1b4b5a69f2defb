#pragma once

#include <string_view>

#include "nereus/text/jinja_value.h"

namespace nereus::text::jinja {

/// Whether `name` is a method of Python's type of `object` that templates may call.
bool has_method(const Value& object, std::string_view name);
/// Whether it is one that changes its object, which the sandbox of chat templates forbids.
bool changes_object(const Value& object, std::string_view name);

/// REQUIRES: has_method(object, name)
Value call_method(const Value& object, std::string_view name, const Arguments& arguments, Budget& budget);
/// The method as a value. Refers to `budget`.
Value bind_method(const Value& object, std::string_view name, Budget& budget);

}  // namespace nereus::text::jinja
