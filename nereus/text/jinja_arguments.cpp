#include "nereus/text/jinja_arguments.h"

#include <algorithm>

#include "nereus/text/jinja_operators.h"

namespace nereus::text::jinja {

Bound::Bound(std::string_view function, const Arguments& arguments,
             std::initializer_list<std::string_view> parameters, size_t required)
    : function_(function), names_(parameters), values_(parameters.size(), nullptr) {
  if (arguments.positional.size() > names_.size()) {
    refuse("{}() takes at most {} arguments, {} were given", function, names_.size(),
           arguments.positional.size());
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto at = static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    if (at == names_.size()) refuse("{}() got an unexpected keyword argument '{}'", function, name);
    if (values_[at]) refuse("{}() got multiple values for argument '{}'", function, name);
    values_[at] = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!values_[i]) refuse("{}() misses the argument '{}'", function, names_[i]);
  }
}

bool Bound::truth(size_t parameter, bool otherwise) const {
  return values_[parameter] ? truthy(*values_[parameter]) : otherwise;
}

int64_t Bound::integer(size_t parameter, int64_t otherwise) const {
  const Value* value = values_[parameter];
  if (!value) return otherwise;
  require_defined(*value);
  if (!value->index()) {
    refuse("{}() expects an integer as '{}', not {}", function_, names_[parameter], value->type());
  }
  return *value->index();
}

const std::string& Bound::text(size_t parameter) const {
  const Value* value = values_[parameter];
  if (!value) refuse("{}() misses the argument '{}'", function_, names_[parameter]);
  require_defined(*value);
  if (!value->is_string()) {
    refuse("{}() expects a string as '{}', not {}", function_, names_[parameter], value->type());
  }
  return value->string()->text;
}

}  // namespace nereus::text::jinja
