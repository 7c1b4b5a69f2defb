#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "nereus/text/jinja_value.h"

namespace nereus::text::jinja {

/// Arguments of a built-in function, bound to its parameters as Python binds them.
class Bound {
 public:
  /// Throws for too many, unknown, doubled and (of the first `required`) missing arguments. Views
  /// `arguments`.
  Bound(std::string_view function, const Arguments& arguments,
        std::initializer_list<std::string_view> parameters, size_t required = 0);

  /// nullptr where the argument was left out.
  const Value* operator[](size_t parameter) const { return values_[parameter]; }
  /// The same; none counts as left out.
  const Value* given(size_t parameter) const {
    return values_[parameter] && !values_[parameter]->is_none() ? values_[parameter] : nullptr;
  }
  bool truth(size_t parameter, bool otherwise) const;
  int64_t integer(size_t parameter, int64_t otherwise) const;  ///< throws where it is no integer
  const std::string& text(size_t parameter) const;             ///< throws where it is no string

 private:
  std::string_view function_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> values_;
};

}  // namespace nereus::text::jinja
