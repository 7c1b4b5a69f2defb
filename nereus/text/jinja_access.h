#pragma once

#include <string>

#include "nereus/text/jinja_value.h"

namespace nereus::text::jinja {

/// `object[key]`: the item, else the attribute of that name, else undefined.
Value get_item(const Value& object, const Value& key, Budget& budget);
/// `object.name`: the method or attribute, else the item of that name, else undefined.
Value get_attribute(const Value& object, const std::string& name, Budget& budget);
/// `a.b.0` one after the other, as filters name attributes; an integer is an index.
Value get_path(const Value& object, const Value& path, Budget& budget);
/// `object[start:stop:step]`; a bound that is none counts as left out.
Value get_slice(const Value& object, const Value& start, const Value& stop, const Value& step,
                Budget& budget);

}  // namespace nereus::text::jinja
