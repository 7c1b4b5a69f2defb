#include "nereus/text/jinja_methods.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "nereus/text/jinja_arguments.h"
#include "nereus/text/jinja_operators.h"
#include "nereus/text/jinja_string_methods.h"

namespace nereus::text::jinja {
namespace {

Value dict_items(const Value& object, const Arguments& arguments, Budget& budget) {
  Bound("items", arguments, {});
  std::vector<Value> items;
  for (const auto& [key, value] : object.dict()->items) items.push_back(Value::tuple({key, value}));
  budget.spend(4 * items.size());
  return Value::list(std::move(items));
}

Value dict_keys(const Value& object, const Arguments& arguments, Budget& budget) {
  Bound("keys", arguments, {});
  return Value(iterate(object, budget).shared());
}

Value dict_values(const Value& object, const Arguments& arguments, Budget& budget) {
  Bound("values", arguments, {});
  std::vector<Value> items;
  for (const auto& item : object.dict()->items) items.push_back(item.second);
  budget.spend(items.size());
  return Value::list(std::move(items));
}

Value dict_get(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound("get", arguments, {"key", "default"}, 1);
  if (!bound[0]->is_undefined()) check_key(*bound[0]);
  budget.spend_text(object.dict()->items.size());
  const Value* value = object.dict()->find(*bound[0]);
  if (value) return *value;
  return bound[1] ? *bound[1] : Value();
}

Value copy(const Value& object, const Arguments& arguments, Budget&) {
  Bound("copy", arguments, {});
  return object;
}

Value sequence_index(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound("index", arguments, {"value"}, 1);
  const auto& items = object.sequence()->items;
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const Value& item) { return equal(item, *bound[0], budget); });
  if (found == items.end()) refuse("the value isn't in the {}", object.type());
  return Value(static_cast<int64_t>(found - items.begin()));
}

Value sequence_count(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound("count", arguments, {"value"}, 1);
  const auto& items = object.sequence()->items;
  return Value(static_cast<int64_t>(std::count_if(
      items.begin(), items.end(), [&](const Value& item) { return equal(item, *bound[0], budget); })));
}

Value is_integer(const Value& object, const Arguments& arguments, Budget&) {
  Bound("is_integer", arguments, {});
  return Value(std::isfinite(*object.real()) && std::floor(*object.real()) == *object.real());
}

/// loop.cycle(a, b, ...): one after the other.
Value loop_cycle(const Value& object, const Arguments& arguments, Budget&) {
  if (arguments.positional.empty()) refuse("no items for cycling given");
  return arguments.positional[object.loop()->index % arguments.positional.size()];
}

/// loop.changed(...): whether the arguments differ from those of the call before.
Value loop_changed(const Value& object, const Arguments& arguments, Budget& budget) {
  auto& last = object.loop()->last_changed;
  const auto same = [&](const Value& a, const Value& b) { return equal(a, b, budget); };
  const auto& now = arguments.positional;
  if (last && last->size() == now.size() && std::equal(now.begin(), now.end(), last->begin(), same)) {
    return Value(false);
  }
  last = now;
  return Value(true);
}

Method find_method(const Value& object, std::string_view name) {
  static const std::unordered_map<std::string_view, Method> kDict{
      {"items", dict_items}, {"keys", dict_keys}, {"values", dict_values}, {"get", dict_get}, {"copy", copy}};
  static const std::unordered_map<std::string_view, Method> kLoop{{"cycle", loop_cycle},
                                                                  {"changed", loop_changed}};
  const auto in = [&](const auto& table) { return table.contains(name) ? table.at(name) : nullptr; };
  if (object.string()) return find_string_method(name);
  if (object.dict()) return in(kDict);
  if (object.loop()) return in(kLoop);
  if (object.real() && name == "is_integer") return is_integer;
  if (!object.sequence()) return nullptr;
  if (name == "index") return sequence_index;
  if (name == "count") return sequence_count;
  return name == "copy" && !object.sequence()->tuple ? copy : nullptr;
}

}  // namespace

bool has_method(const Value& object, std::string_view name) {
  return find_method(object, name) != nullptr;
}

bool changes_object(const Value& object, std::string_view name) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (object.dict()) return is_one_of({"clear", "pop", "popitem", "setdefault", "update"});
  return object.sequence() && !object.sequence()->tuple &&
         is_one_of({"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"});
}

Value call_method(const Value& object, std::string_view name, const Arguments& arguments, Budget& budget) {
  if (const String* string = object.string()) budget.spend_text(string->text.size());
  Value result = find_method(object, name)(object, arguments, budget);
  if (!result.string()) return result;
  budget.spend_text(result.string()->text.size());
  return object.string() && object.string()->markup ? Value(result.string()->text, true) : result;
}

Value bind_method(const Value& object, std::string_view name, Budget& budget) {
  if (object.depth() >= kMaxValueDepth) refuse("values nested deeper than {} levels", kMaxValueDepth);
  Function function{std::string(name), {}, object.depth() + 1};
  function.call = [object, method = std::string(name), &budget](const Arguments& arguments) {
    return call_method(object, method, arguments, budget);
  };
  return Value(std::make_shared<const Function>(std::move(function)));
}

}  // namespace nereus::text::jinja
