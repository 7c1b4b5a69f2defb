#include "nereus/text/jinja_access.h"

#include <algorithm>

#include "nereus/text/jinja_methods.h"
#include "nereus/text/jinja_operators.h"
#include "nereus/text/jinja_print.h"
#include "nereus/text/jinja_unicode.h"

namespace nereus::text::jinja {
namespace {

Value missing(const Value& object, const Value& key, Budget& budget) {
  if (key.string()) return Value(Undefined{key.string()->text, object.object_name()});
  return Value(Undefined{repr(key, budget), object.object_name(), true});
}

/// The element at a Python index, negative ones from the end; nullopt where there is none.
std::optional<Value> element(const Value& object, int64_t index, Budget& budget) {
  const int64_t size = length(object, budget);
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  if (const Sequence* sequence = object.sequence()) return sequence->items[static_cast<size_t>(index)];
  const std::u32string chars = decode(object.string()->text);
  return Value(encode({&chars[static_cast<size_t>(index)], 1}));
}

std::optional<Value> loop_attribute(const Value& value, const std::string& name) {
  const Loop& loop = *value.loop();
  const auto& items = loop.items->items;
  const auto index = static_cast<int64_t>(loop.index), size = static_cast<int64_t>(items.size());
  if (name == "index") return Value(index + 1);
  if (name == "index0") return Value(index);
  if (name == "revindex") return Value(size - index);
  if (name == "revindex0") return Value(size - index - 1);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(index + 1 == size);
  if (name == "length") return Value(size);
  if (name == "depth") return Value(loop.depth);
  if (name == "depth0") return Value(loop.depth - 1);
  const auto at = [&](int64_t i, const char* which) {
    return i >= 0 && i < size ? items[static_cast<size_t>(i)]
                              : Value(Undefined{name, {}, false, fmt::format("there is no {} item", which)});
  };
  if (name == "previtem") return at(index - 1, "previous");
  if (name == "nextitem") return at(index + 1, "next");
  return std::nullopt;
}

/// What the object itself has under `name`; dicts have methods, their keys are no attributes.
std::optional<Value> own_attribute(const Value& object, const std::string& name, Budget& budget) {
  if (has_method(object, name)) return bind_method(object, name, budget);
  if (changes_object(object, name)) {
    return Value(
        Undefined{name,
                  {},
                  false,
                  fmt::format("'{}' would change a {}, which a template may not", name, object.type())});
  }
  if (object.loop()) return loop_attribute(object, name);
  if (object.function() && name == "name") return Value(object.function()->name);
  if (const Namespace* space = object.space()) {
    budget.spend_text(space->attributes.size());
    if (const Value* value = space->find(name)) return *value;
  }
  return std::nullopt;
}

std::optional<Value> own_item(const Value& object, const Value& key, Budget& budget) {
  if (const Dict* dict = object.dict()) {
    budget.spend_text(dict->items.size());
    const Value* value = dict->find(key);
    return value ? std::optional<Value>(*value) : std::nullopt;
  }
  if (key.index() && (object.sequence() || object.string())) return element(object, *key.index(), budget);
  return std::nullopt;
}

}  // namespace

Value get_item(const Value& object, const Value& key, Budget& budget) {
  require_defined(object);
  if (auto value = own_item(object, key, budget)) return std::move(*value);
  if (key.string()) {
    if (auto value = own_attribute(object, key.string()->text, budget)) return std::move(*value);
  }
  return missing(object, key, budget);
}

Value get_attribute(const Value& object, const std::string& name, Budget& budget) {
  require_defined(object);
  if (auto value = own_attribute(object, name, budget)) return std::move(*value);
  if (const Dict* dict = object.dict()) {
    budget.spend_text(dict->items.size());
    if (const Value* value = dict->find(name)) return *value;
  }
  return Value(Undefined{name, object.object_name()});
}

Value get_path(const Value& object, const Value& path, Budget& budget) {
  if (!path.string()) return get_item(object, path, budget);
  Value value = object;
  std::string_view rest = path.string()->text;
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const bool digits =
        !part.empty() && part.size() < 18 && part.find_first_not_of("0123456789") == part.npos;
    const Value key = digits ? Value(int64_t{std::stoll(std::string(part))}) : Value(part);
    value = get_item(value, key, budget);
    if (dot == std::string_view::npos) return value;
    rest.remove_prefix(dot + 1);
  }
}

Value get_slice(const Value& object, const Value& start, const Value& stop, const Value& step,
                Budget& budget) {
  require_defined(object);
  if (!object.sequence() && !object.string()) refuse("'{}' object is not subscriptable", object.type());
  for (const Value* bound : {&start, &stop, &step}) {
    if (!bound->is_none() && !bound->index()) refuse("slice indices must be integers or None");
  }
  const int64_t size = length(object, budget);
  const int64_t stride = step.is_none() ? 1 : *step.index();
  if (stride == 0) refuse("slice step cannot be zero");
  const auto bound = [&](const Value& value, int64_t otherwise) {
    if (value.is_none()) return otherwise;
    const int64_t index = *value.index() < 0 ? *value.index() + size : *value.index();
    return std::clamp<int64_t>(index, stride < 0 ? -1 : 0, stride < 0 ? size - 1 : size);
  };
  const int64_t from = bound(start, stride < 0 ? size - 1 : 0), to = bound(stop, stride < 0 ? -1 : size);
  const int64_t distance = stride < 0 ? from - to : to - from;
  const uint64_t width =
      stride < 0 ? uint64_t{0} - static_cast<uint64_t>(stride) : static_cast<uint64_t>(stride);
  const size_t count = distance <= 0 ? 0 : 1 + (static_cast<uint64_t>(distance) - 1) / width;
  budget.spend(1 + count);
  const auto place = [&](size_t i) { return static_cast<size_t>(from + static_cast<int64_t>(i) * stride); };
  if (const String* string = object.string()) {
    const std::u32string chars = decode(string->text);
    std::u32string part;
    for (size_t i = 0; i < count; ++i) part.push_back(chars[place(i)]);
    return Value(encode(part), string->markup);
  }
  std::vector<Value> items;
  items.reserve(count);
  for (size_t i = 0; i < count; ++i) items.push_back(object.sequence()->items[place(i)]);
  return object.sequence()->tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

}  // namespace nereus::text::jinja
