#include <algorithm>
#include <unordered_map>

#include "nereus/text/jinja_access.h"
#include "nereus/text/jinja_arguments.h"
#include "nereus/text/jinja_filters.h"
#include "nereus/text/jinja_methods.h"
#include "nereus/text/jinja_operators.h"
#include "nereus/text/jinja_print.h"
#include "nereus/text/jinja_tests.h"
#include "nereus/text/jinja_unicode.h"

namespace nereus::text::jinja {
namespace {

/// What items are compared by: the item or its attribute, in small letters unless `case_sensitive`.
Value sort_key(const Value& item, const Value* attribute, bool case_sensitive, Budget& budget) {
  Value key = attribute ? get_path(item, *attribute, budget) : item;
  if (case_sensitive || !key.is_string()) return key;
  budget.spend_text(key.string()->text.size());
  return Value(lower(key.string()->text));
}

/// The names of "a,b" one by one; an integer or null as it is.
std::vector<Value> attributes_of(const Value* attribute) {
  std::vector<Value> all;
  if (!attribute || !attribute->is_string()) return all;
  std::string_view rest = attribute->string()->text;
  for (size_t comma = rest.find(','); comma != rest.npos; comma = rest.find(',')) {
    all.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma + 1);
  }
  all.emplace_back(rest);
  return all;
}

/// `items` in the order of `keys`, stable also in reverse.
std::vector<Value> sorted_by(std::vector<Value> items, const std::vector<Value>& keys, bool reverse,
                             Budget& budget) {
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return reverse ? less(keys[b], keys[a], budget) : less(keys[a], keys[b], budget);
  });
  std::vector<Value> sorted;
  for (const size_t i : order) sorted.push_back(std::move(items[i]));
  return sorted;
}

Value sort(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const auto items = iterate(value, budget);
  const std::vector<Value> attributes = attributes_of(bound.given(2));
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> parts;
    for (const Value& name : attributes)
      parts.push_back(sort_key(item, &name, bound.truth(1, false), budget));
    keys.push_back(attributes.empty() ? sort_key(item, bound.given(2), bound.truth(1, false), budget)
                                      : Value::list(std::move(parts)));
  }
  budget.spend(2 * keys.size());
  return Value::list(sorted_by(items.all(), keys, bound.truth(0, false), budget));
}

std::vector<Value> pairs_of(const Value& dict, Budget& budget) {
  return iterate(call_method(dict, "items", {}, budget), budget).all();
}

Value dictsort(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = bound[1] ? bound.text(1) : "key";
  if (by != "key" && by != "value") refuse("You can only sort by either \"key\" or \"value\"");
  require_defined(value);
  if (!value.dict()) refuse("dictsort wants a mapping, not {}", value.type());
  std::vector<Value> keys, pairs = pairs_of(value, budget);
  for (const Value& pair : pairs) {
    keys.push_back(
        sort_key(pair.sequence()->items[by == "key" ? 0 : 1], nullptr, bound.truth(0, false), budget));
  }
  return Value::list(sorted_by(std::move(pairs), keys, bound.truth(2, false), budget));
}

Value items_of(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("items", arguments, {});
  if (value.is_undefined()) return Value::list({});
  if (!value.dict()) refuse("Can only get item pairs from a mapping.");
  return Value::list(pairs_of(value, budget));
}

Value unique(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  std::vector<Value> seen, kept;
  for (const Value& item : iterate(value, budget)) {
    Value key = sort_key(item, bound.given(1), bound.truth(0, false), budget);
    const auto same = [&](const Value& other) { return equal(key, other, budget); };
    if (std::any_of(seen.begin(), seen.end(), same)) continue;
    seen.push_back(std::move(key));
    kept.push_back(item);
  }
  return Value::list(std::move(kept));
}

template <bool largest>
Value extreme(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("min", arguments, {"case_sensitive", "attribute"});
  const auto items = iterate(value, budget);
  if (items.empty()) return Value(Undefined{{}, {}, false, "No aggregated item, sequence was empty."});
  const Value* best = nullptr;
  Value best_key;
  for (const Value& item : items) {
    Value key = sort_key(item, bound.given(1), bound.truth(0, false), budget);
    if (best && !(largest ? less(best_key, key, budget) : less(key, best_key, budget))) continue;
    best = &item;
    best_key = std::move(key);
  }
  return *best;
}

Value sum(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  Value total = bound[1] ? *bound[1] : Value(int64_t{0});
  if (total.is_string()) refuse("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : iterate(value, budget)) {
    total = arithmetic(ArithmeticOp::kAdd, total, bound.given(0) ? get_path(item, *bound[0], budget) : item,
                       budget);
  }
  return total;
}

Value join(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("join", arguments, {"d", "attribute"});
  const std::string between = bound[0] ? to_text(*bound[0], budget) : std::string();
  std::string out;
  bool first = true;
  for (const Value& item : iterate(value, budget)) {
    if (!std::exchange(first, false)) out += between;
    const std::string text = to_text(bound.given(1) ? get_path(item, *bound[1], budget) : item, budget);
    budget.spend_text(between.size() + text.size());
    out += text;
  }
  return Value(std::move(out));
}

Value count(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("length", arguments, {});
  return Value(length(value, budget));
}

Value first(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("first", arguments, {});
  const auto items = iterate(value, budget);
  if (items.empty()) return Value(Undefined{{}, {}, false, "No first item, sequence was empty."});
  return items[0];
}

Value last(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("last", arguments, {});
  const auto items = iterate(value, budget);
  if (items.empty()) return Value(Undefined{{}, {}, false, "No last item, sequence was empty."});
  return items[items.size() - 1];
}

Value as_list(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("list", arguments, {});
  const auto items = iterate(value, budget);
  budget.spend(items.size());
  return Value::list(items.all());
}

Value reverse(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("reverse", arguments, {});
  std::vector<Value> items = iterate(value, budget).all();
  budget.spend(items.size());
  std::reverse(items.begin(), items.end());
  if (!value.is_string()) return Value::list(std::move(items));
  std::string out;
  for (const Value& item : items) out += item.string()->text;
  return Value(std::move(out));
}

FilterFunction required_filter(const Value& name, Budget& budget) {
  const FilterFunction filter = name.is_string() ? find_filter(name.string()->text) : nullptr;
  if (!filter) refuse("No filter named {}.", repr(name, budget));
  return filter;
}

/// The arguments after the first `count` positional ones.
Arguments rest_of(const Arguments& arguments, size_t count) {
  const auto skip = static_cast<int64_t>(std::min(count, arguments.positional.size()));
  return {{arguments.positional.begin() + skip, arguments.positional.end()}, arguments.named};
}

Value map_attribute(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("map", arguments, {"attribute", "default"});
  std::vector<Value> results;
  for (const Value& item : iterate(value, budget)) {
    Value result = get_path(item, *bound[0], budget);
    if (result.is_undefined() && bound.given(1)) result = *bound[1];
    results.push_back(std::move(result));
  }
  return Value::list(std::move(results));
}

Value map(const Value& value, const Arguments& arguments, Budget& budget) {
  if (!truthy(value)) return Value::list({});
  const auto named = [](const auto& argument) { return argument.first == "attribute"; };
  if (arguments.positional.empty()) {
    if (std::any_of(arguments.named.begin(), arguments.named.end(), named)) {
      return map_attribute(value, arguments, budget);
    }
    refuse("map requires a filter argument");
  }
  const FilterFunction filter = required_filter(arguments.positional[0], budget);
  const Arguments rest = rest_of(arguments, 1);
  std::vector<Value> results;
  for (const Value& item : iterate(value, budget)) {
    budget.spend(1);
    results.push_back(filter(item, rest, budget));
  }
  return Value::list(std::move(results));
}

template <bool keep, bool by_attribute>
Value select(const Value& value, const Arguments& arguments, Budget& budget) {
  if (!truthy(value)) return Value::list({});
  const auto& given = arguments.positional;
  const size_t at = by_attribute ? 1 : 0;
  if (given.size() < at) refuse("Missing parameter for attribute name");
  TestFunction test = nullptr;
  if (given.size() > at) {
    test = given[at].is_string() ? find_test(given[at].string()->text) : nullptr;
    if (!test) refuse("No test named {}.", repr(given[at], budget));
  }
  const Arguments rest = rest_of(arguments, at + 1);
  std::vector<Value> kept;
  for (const Value& item : iterate(value, budget)) {
    budget.spend(1);
    const Value subject = by_attribute ? get_path(item, given[0], budget) : item;
    if ((test ? test(subject, rest, budget) : truthy(subject)) == keep) kept.push_back(item);
  }
  return Value::list(std::move(kept));
}

Value batch(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("batch", arguments, {"linecount", "fill_with"}, 1);
  const int64_t size = bound.integer(0, 1);
  std::vector<Value> batches, current;
  for (const Value& item : iterate(value, budget)) {
    budget.spend(2);
    if (!current.empty() && static_cast<int64_t>(current.size()) == size) {
      batches.push_back(Value::list(std::exchange(current, {})));
    }
    current.push_back(item);
  }
  if (current.empty()) return Value::list(std::move(batches));
  while (bound.given(1) && static_cast<int64_t>(current.size()) < size) {
    budget.spend(1);
    current.push_back(*bound[1]);
  }
  batches.push_back(Value::list(std::move(current)));
  return Value::list(std::move(batches));
}

/// So many lists of equal length; the first ones take what is left over.
Value slice(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("slice", arguments, {"slices", "fill_with"}, 1);
  const Items items = iterate(value, budget);
  const int64_t slices = bound.integer(0, 1);
  if (slices <= 0) refuse("slice() wants a positive number of slices");
  budget.spend(static_cast<uint64_t>(slices));
  budget.spend(items.size());
  const auto size = static_cast<int64_t>(items.size());
  const int64_t each = size / slices, longer = size % slices;
  std::vector<Value> all;
  auto from = items.begin();
  for (int64_t i = 0; i < slices; ++i) {
    const auto to = from + each + (i < longer ? 1 : 0);
    std::vector<Value> part(from, to);
    if (bound.given(1) && i >= longer) part.push_back(*bound[1]);
    all.push_back(Value::list(std::move(part)));
    from = to;
  }
  return Value::list(std::move(all));
}

Value groupby(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const auto attribute_of = [&](const Value& item) {
    Value found = get_path(item, *bound[0], budget);
    return found.is_undefined() && bound.given(1) ? *bound[1] : found;
  };
  const auto key_of = [&](const Value& item) {
    return sort_key(attribute_of(item), nullptr, bound.truth(2, false), budget);
  };
  const auto items = iterate(value, budget);
  std::vector<Value> keys;
  for (const Value& item : items) keys.push_back(key_of(item));
  std::vector<Value> groups, current;
  const auto finish = [&] {
    if (current.empty()) return;
    const Value name = attribute_of(current.front());
    groups.push_back(Value::tuple({name, Value::list(std::exchange(current, {}))}));
  };
  for (const Value& item : sorted_by(items.all(), keys, false, budget)) {
    if (!current.empty() && !equal(key_of(item), key_of(current.front()), budget)) finish();
    current.push_back(item);
  }
  finish();
  return Value::list(std::move(groups));
}

}  // namespace

FilterFunction find_sequence_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, FilterFunction> kFilters{
      {"batch", batch},
      {"count", count},
      {"dictsort", dictsort},
      {"first", first},
      {"groupby", groupby},
      {"items", items_of},
      {"join", join},
      {"last", last},
      {"length", count},
      {"list", as_list},
      {"map", map},
      {"max", extreme<true>},
      {"min", extreme<false>},
      {"reject", select<false, false>},
      {"rejectattr", select<false, true>},
      {"reverse", reverse},
      {"select", select<true, false>},
      {"selectattr", select<true, true>},
      {"slice", slice},
      {"sort", sort},
      {"sum", sum},
      {"unique", unique}};
  const auto found = kFilters.find(name);
  return found == kFilters.end() ? nullptr : found->second;
}

}  // namespace nereus::text::jinja
