#pragma once

#include <ctime>
#include <functional>

#include "nereus/text/jinja_value.h"

namespace nereus::text::jinja {

// Functions that every template sees; `namespace` lives with the interpreter, which owns what it makes.

Value range(const Arguments& arguments, Budget& budget);
Value make_dict(const Arguments& arguments, Budget& budget);
[[noreturn]] void raise_exception(const Arguments& arguments, Budget& budget);
Value strftime_now(const Arguments& arguments, const std::function<std::tm()>& local_time, Budget& budget);

}  // namespace nereus::text::jinja
