#include "nereus/text/jinja_operators.h"

#include <algorithm>
#include <cmath>

#include "nereus/text/jinja_format.h"
#include "nereus/text/jinja_print.h"
#include "nereus/text/jinja_unicode.h"

namespace nereus::text::jinja {
namespace {

[[noreturn]] void unsupported(const char* op, const Value& a, const Value& b) {
  refuse("unsupported operand type(s) for {}: '{}' and '{}'", op, a.type(), b.type());
}

const char* symbol(ArithmeticOp op) {
  switch (op) {
    case ArithmeticOp::kAdd:
      return "+";
    case ArithmeticOp::kSubtract:
      return "-";
    case ArithmeticOp::kMultiply:
      return "*";
    case ArithmeticOp::kDivide:
      return "/";
    case ArithmeticOp::kFloorDivide:
      return "//";
    case ArithmeticOp::kModulo:
      return "%";
    case ArithmeticOp::kPower:
      return "**";
  }
  return "?";
}

Value real_arithmetic(ArithmeticOp op, double a, double b) {
  const bool divides =
      op == ArithmeticOp::kDivide || op == ArithmeticOp::kFloorDivide || op == ArithmeticOp::kModulo;
  if (divides && b == 0) refuse("division by zero");
  switch (op) {
    case ArithmeticOp::kAdd:
      return Value(a + b);
    case ArithmeticOp::kSubtract:
      return Value(a - b);
    case ArithmeticOp::kMultiply:
      return Value(a * b);
    case ArithmeticOp::kDivide:
      return Value(a / b);
    case ArithmeticOp::kFloorDivide:
      return Value(std::floor(a / b));
    case ArithmeticOp::kModulo: {
      const double rest = std::fmod(a, b);
      return Value(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
    case ArithmeticOp::kPower:
      return Value(std::pow(a, b));
  }
  return Value();
}

int64_t integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
      refuse("an integer needs more than 64 bits");
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
      refuse("an integer needs more than 64 bits");
  }
  return result;
}

Value integer_arithmetic(ArithmeticOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case ArithmeticOp::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case ArithmeticOp::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case ArithmeticOp::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case ArithmeticOp::kPower:
      if (b < 0 && a == 0) refuse("0 can't be raised to a negative power");
      return b < 0 ? Value(std::pow(static_cast<double>(a), static_cast<double>(b)))
                   : Value(integer_power(a, b));
    case ArithmeticOp::kDivide:
      return real_arithmetic(op, static_cast<double>(a), static_cast<double>(b));
    case ArithmeticOp::kFloorDivide:
    case ArithmeticOp::kModulo: {
      if (b == 0) refuse("integer division or modulo by zero");
      if (b == -1) return op == ArithmeticOp::kModulo ? Value(int64_t{0}) : signed_value(Value(a), true);
      const int64_t rest = a % b;
      const bool adjust = rest != 0 && (rest < 0) != (b < 0);
      return Value(op == ArithmeticOp::kModulo ? (adjust ? rest + b : rest) : a / b - (adjust ? 1 : 0));
    }
  }
  if (overflow) refuse("an integer needs more than 64 bits");
  return Value(result);
}

Value add_strings(const String& a, const String& b, Budget& budget) {
  budget.spend_text(a.text.size() + b.text.size());
  const bool markup = a.markup || b.markup;
  const auto part = [&](const String& s) { return markup && !s.markup ? escape_html(s.text) : s.text; };
  return Value(part(a) + part(b), markup);
}

Value add_sequences(const Sequence& a, const Sequence& b, Budget& budget) {
  budget.spend(a.items.size() + b.items.size());
  std::vector<Value> items(a.items);
  items.insert(items.end(), b.items.begin(), b.items.end());
  return a.tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Value repeat(const Value& value, int64_t times, Budget& budget) {
  const uint64_t count = times > 0 ? static_cast<uint64_t>(times) : 0;
  const auto check = [&](uint64_t size) {
    if (size > 0 && count > (uint64_t{1} << 32) / size)
      refuse("the template does too much work ('*' on a sequence)");
    return size * count;
  };
  if (const String* string = value.string()) {
    budget.spend_text(check(string->text.size()));
    std::string text;
    for (uint64_t i = 0; i < count && !string->text.empty(); ++i) text += string->text;
    return Value(std::move(text), string->markup);
  }
  const Sequence& sequence = *value.sequence();
  budget.spend(check(sequence.items.size()));
  std::vector<Value> items;
  for (uint64_t i = 0; i < count && !sequence.items.empty(); ++i) {
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return sequence.tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

bool equal_dicts(const Dict& a, const Dict& b, Budget& budget) {
  if (a.items.size() != b.items.size()) return false;
  budget.spend(1 + a.items.size() * b.items.size() / 8);
  for (const auto& [key, value] : a.items) {
    const Value* other = b.find(key);
    if (!other || !equal(value, *other, budget)) return false;
  }
  return true;
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  if (const String* string = container.string()) {
    require_defined(item);
    if (!item.is_string()) refuse("'in <string>' requires string as left operand, not {}", item.type());
    budget.spend_text(string->text.size() + item.string()->text.size());
    return string->text.find(item.string()->text) != std::string::npos;
  }
  if (const Dict* dict = container.dict()) {
    if (item.dict() || (item.sequence() && !item.sequence()->tuple))
      refuse("a {} can't be a key", item.type());
    budget.spend_text(dict->items.size());
    return dict->find(item) != nullptr;
  }
  if (!container.sequence() && !container.is_undefined()) {
    refuse("argument of type '{}' is not iterable", container.type());
  }
  const auto items = iterate(container, budget);
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& other) { return equal(item, other, budget); });
}

}  // namespace

void require_defined(const Value& value) {
  if (const Undefined* why = value.undefined()) throw Failure{why->message()};
}

bool truthy(const Value& value) {
  if (const bool* truth = value.boolean()) return *truth;
  if (const int64_t* integer = value.integer()) return *integer != 0;
  if (const double* real = value.real()) return *real != 0;
  if (const String* string = value.string()) return !string->text.empty();
  if (const Sequence* sequence = value.sequence()) return !sequence->items.empty();
  if (const Dict* dict = value.dict()) return !dict->items.empty();
  return !value.is_none() && !value.is_undefined();
}

bool equal(const Value& a, const Value& b, Budget& budget) {
  budget.spend(1);
  if (a.is_number() && b.is_number()) {
    return a.index() && b.index() ? *a.index() == *b.index() : a.number() == b.number();
  }
  if (a.string() && b.string()) {
    budget.spend_text(std::min(a.string()->text.size(), b.string()->text.size()));
    return a.string()->text == b.string()->text;
  }
  if (a.sequence() && b.sequence()) {
    const Sequence &x = *a.sequence(), &y = *b.sequence();
    return x.tuple == y.tuple && x.items.size() == y.items.size() &&
           std::equal(x.items.begin(), x.items.end(), y.items.begin(),
                      [&](const Value& i, const Value& j) { return equal(i, j, budget); });
  }
  if (a.dict() && b.dict()) return equal_dicts(*a.dict(), *b.dict(), budget);
  return (a.is_undefined() && b.is_undefined()) || a.same(b);
}

bool less(const Value& a, const Value& b, Budget& budget) {
  budget.spend(1);
  require_defined(a);
  require_defined(b);
  if (a.is_number() && b.is_number()) {
    return a.index() && b.index() ? *a.index() < *b.index() : a.number() < b.number();
  }
  if (a.string() && b.string()) {
    budget.spend_text(std::min(a.string()->text.size(), b.string()->text.size()));
    return a.string()->text < b.string()->text;  // UTF-8 sorts as code points do
  }
  if (a.sequence() && b.sequence() && a.sequence()->tuple == b.sequence()->tuple) {
    const auto &x = a.sequence()->items, &y = b.sequence()->items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equal(x[i], y[i], budget)) return less(x[i], y[i], budget);
    }
    return x.size() < y.size();
  }
  refuse("'<' not supported between instances of '{}' and '{}'", a.type(), b.type());
}

bool compare(CompareOp op, const Value& a, const Value& b, Budget& budget) {
  switch (op) {
    case CompareOp::kEqual:
      return equal(a, b, budget);
    case CompareOp::kNotEqual:
      return !equal(a, b, budget);
    case CompareOp::kLess:
      return less(a, b, budget);
    case CompareOp::kGreater:
      return less(b, a, budget);
    case CompareOp::kLessEqual:
      return less(a, b, budget) || equal(a, b, budget);
    case CompareOp::kGreaterEqual:
      return less(b, a, budget) || equal(a, b, budget);
    case CompareOp::kIn:
      return contains(b, a, budget);
    case CompareOp::kNotIn:
      return !contains(b, a, budget);
  }
  return false;
}

Value arithmetic(ArithmeticOp op, const Value& a, const Value& b, Budget& budget) {
  require_defined(a);
  if (op == ArithmeticOp::kModulo && a.string()) return Value(percent_format(a.string()->text, b, budget));
  require_defined(b);
  if (a.index() && b.index()) return integer_arithmetic(op, *a.index(), *b.index());
  if (a.is_number() && b.is_number()) return real_arithmetic(op, a.number(), b.number());
  if (op == ArithmeticOp::kMultiply) {
    if (b.index() && (a.string() || a.sequence())) return repeat(a, *b.index(), budget);
    if (a.index() && (b.string() || b.sequence())) return repeat(b, *a.index(), budget);
  }
  if (op == ArithmeticOp::kAdd && a.string()) {
    if (b.string()) return add_strings(*a.string(), *b.string(), budget);
    refuse("can only concatenate str (not \"{}\") to str", b.type());
  }
  if (op == ArithmeticOp::kAdd && a.sequence()) {
    if (b.sequence() && a.sequence()->tuple == b.sequence()->tuple) {
      return add_sequences(*a.sequence(), *b.sequence(), budget);
    }
    refuse("can only concatenate {0} (not \"{1}\") to {0}", a.type(), b.type());
  }
  unsupported(symbol(op), a, b);
}

Value signed_value(const Value& value, bool negative) {
  require_defined(value);
  if (const double* real = value.real()) return Value(negative ? -*real : *real);
  if (!value.index()) refuse("bad operand type for unary {}: '{}'", negative ? '-' : '+', value.type());
  return negative ? integer_arithmetic(ArithmeticOp::kSubtract, 0, *value.index()) : Value(*value.index());
}

int64_t length(const Value& value, Budget& budget) {
  size_t count = 0;
  if (const String* string = value.string()) {
    budget.spend_text(string->text.size());
    count = count_chars(string->text);
  } else if (const Sequence* sequence = value.sequence()) {
    count = sequence->items.size();
  } else if (const Dict* dict = value.dict()) {
    count = dict->items.size();
  } else if (const Loop* loop = value.loop()) {
    count = loop->items->items.size();
  } else if (!value.is_undefined()) {
    refuse("object of type '{}' has no len()", value.type());
  }
  return static_cast<int64_t>(count);
}

Items iterate(const Value& value, Budget& budget) {
  if (auto sequence = value.shared_sequence()) {
    budget.spend(1 + sequence->items.size() / 16);
    return Items(std::move(sequence));
  }
  std::vector<Value> items;
  if (const Dict* dict = value.dict()) {
    budget.spend(dict->items.size());
    for (const auto& item : dict->items) items.push_back(item.first);
  } else if (const String* string = value.string()) {
    budget.spend(2 * string->text.size());
    for (size_t at = 0; at < string->text.size();) {
      const size_t start = at;
      next_char(string->text, at);
      items.emplace_back(string->text.substr(start, at - start));
    }
  } else if (!value.is_undefined()) {
    refuse("'{}' object is not iterable", value.type());
  }
  return Items(Value::list(std::move(items)).shared_sequence());
}

}  // namespace nereus::text::jinja
