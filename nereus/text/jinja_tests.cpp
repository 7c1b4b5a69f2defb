#include "nereus/text/jinja_tests.h"

#include <unordered_map>

#include "nereus/text/jinja_arguments.h"
#include "nereus/text/jinja_filters.h"
#include "nereus/text/jinja_operators.h"
#include "nereus/text/jinja_print.h"
#include "nereus/text/jinja_unicode.h"

namespace nereus::text::jinja {
namespace {

/// A test without arguments that asks `holds`.
template <bool (*holds)(const Value&)>
bool plain(const Value& value, const Arguments& arguments, Budget&) {
  Bound("the test", arguments, {});
  return holds(value);
}

bool is_defined(const Value& v) {
  return !v.is_undefined();
}
bool is_undefined(const Value& v) {
  return v.is_undefined();
}
bool is_none(const Value& v) {
  return v.is_none();
}
bool is_boolean(const Value& v) {
  return v.boolean() != nullptr;
}
bool is_true(const Value& v) {
  return v.boolean() && *v.boolean();
}
bool is_false(const Value& v) {
  return v.boolean() && !*v.boolean();
}
bool is_integer(const Value& v) {
  return v.integer() != nullptr;
}
bool is_float(const Value& v) {
  return v.real() != nullptr;
}
bool is_number(const Value& v) {
  return v.is_number();
}
bool is_string(const Value& v) {
  return v.is_string();
}
bool is_mapping(const Value& v) {
  return v.dict() != nullptr;
}
bool is_sequence(const Value& v) {
  return v.is_string() || v.sequence() || v.dict() || v.is_undefined();
}
bool is_iterable(const Value& v) {
  return is_sequence(v) || v.loop();
}
bool is_callable(const Value& v) {
  return v.function() || v.is_undefined() || (v.loop() && v.loop()->recurse);
}
bool is_escaped(const Value& v) {
  return v.string() && v.string()->markup;
}

template <bool (*holds)(char32_t), bool (*other)(char32_t)>
bool has_case(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("the test", arguments, {});
  bool any = false;
  for (const char32_t c : decode(to_text(value, budget))) {
    if (other(c)) return false;
    any = any || holds(c);
  }
  return any;
}

bool has_rest(const Value& value, const Value& divisor, int64_t rest, Budget& budget) {
  return equal(arithmetic(ArithmeticOp::kModulo, value, divisor, budget), Value(rest), budget);
}

template <int64_t rest>
bool parity(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("the test", arguments, {});
  return has_rest(value, Value(int64_t{2}), rest, budget);
}

bool divisible(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("divisibleby", arguments, {"num"}, 1);
  return has_rest(value, *bound[0], 0, budget);
}

template <CompareOp op>
bool compared(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("the test", arguments, {"other"}, 1);
  return compare(op, value, *bound[0], budget);
}

bool same_as(const Value& value, const Arguments& arguments, Budget&) {
  const Bound bound("sameas", arguments, {"other"}, 1);
  return value.same(*bound[0]);
}

bool filter_exists(const Value& value, const Arguments& arguments, Budget&) {
  Bound("filter", arguments, {});
  return value.is_string() && find_filter(value.string()->text);
}

bool test_exists(const Value& value, const Arguments& arguments, Budget&) {
  Bound("test", arguments, {});
  return value.is_string() && find_test(value.string()->text);
}

}  // namespace

TestFunction find_test(std::string_view name) {
  static const std::unordered_map<std::string_view, TestFunction> kTests{
      {"boolean", plain<is_boolean>},
      {"callable", plain<is_callable>},
      {"defined", plain<is_defined>},
      {"divisibleby", divisible},
      {"escaped", plain<is_escaped>},
      {"even", parity<0>},
      {"false", plain<is_false>},
      {"filter", filter_exists},
      {"float", plain<is_float>},
      {"integer", plain<is_integer>},
      {"iterable", plain<is_iterable>},
      {"lower", has_case<is_lower, is_upper>},
      {"mapping", plain<is_mapping>},
      {"none", plain<is_none>},
      {"number", plain<is_number>},
      {"odd", parity<1>},
      {"sameas", same_as},
      {"sequence", plain<is_sequence>},
      {"string", plain<is_string>},
      {"test", test_exists},
      {"true", plain<is_true>},
      {"undefined", plain<is_undefined>},
      {"upper", has_case<is_upper, is_lower>},
      {"eq", compared<CompareOp::kEqual>},
      {"==", compared<CompareOp::kEqual>},
      {"equalto", compared<CompareOp::kEqual>},
      {"ne", compared<CompareOp::kNotEqual>},
      {"!=", compared<CompareOp::kNotEqual>},
      {"gt", compared<CompareOp::kGreater>},
      {">", compared<CompareOp::kGreater>},
      {"greaterthan", compared<CompareOp::kGreater>},
      {"ge", compared<CompareOp::kGreaterEqual>},
      {">=", compared<CompareOp::kGreaterEqual>},
      {"lt", compared<CompareOp::kLess>},
      {"<", compared<CompareOp::kLess>},
      {"lessthan", compared<CompareOp::kLess>},
      {"le", compared<CompareOp::kLessEqual>},
      {"<=", compared<CompareOp::kLessEqual>},
      {"in", compared<CompareOp::kIn>}};
  const auto found = kTests.find(name);
  return found == kTests.end() ? nullptr : found->second;
}

}  // namespace nereus::text::jinja
