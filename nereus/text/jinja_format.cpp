#include "nereus/text/jinja_format.h"

#include <cmath>
#include <cstdio>

#include "nereus/text/jinja_access.h"
#include "nereus/text/jinja_operators.h"
#include "nereus/text/jinja_print.h"
#include "nereus/text/jinja_unicode.h"

namespace nereus::text::jinja {
namespace {

constexpr int kMaxPrecision = 500;
constexpr int kMaxWidth = 1'000'000;
constexpr std::string_view kRealTypes = "eEfFgG";

struct Spec {
  char32_t fill = ' ';
  char align = 0;  ///< one of < > ^ =, or 0 for the type's own
  char sign = '-';
  bool alternate = false;
  int width = 0;
  char grouping = 0;
  int precision = -1;
  char type = 0;
};

bool is_digit_char(char c) {
  return c >= '0' && c <= '9';
}

bool one_of(char c, std::string_view any) {
  return any.find(c) != std::string_view::npos;
}

/// Reads a number; `at` moves behind it.
int read_number(std::string_view text, size_t& at, int limit) {
  int value = 0;
  for (; at < text.size() && is_digit_char(text[at]); ++at) {
    value = value * 10 + (text[at] - '0');
    if (value > limit) refuse("a width or precision above {} in a format", limit);
  }
  return value;
}

/// Python's format specification: [[fill]align][sign][#][0][width][grouping][.precision][type].
Spec parse_spec(std::string_view text) {
  static constexpr std::string_view kAligns = "<>^=";
  Spec spec;
  size_t at = 0;
  const auto is = [&](size_t i, std::string_view any) { return i < text.size() && one_of(text[i], any); };
  if (!text.empty()) {
    size_t behind = 0;
    const char32_t fill = next_char(text, behind);
    if (is(behind, kAligns)) {
      spec.fill = fill;
      spec.align = text[behind];
      at = behind + 1;
    } else if (is(0, kAligns)) {
      spec.align = text[at++];
    }
  }
  if (is(at, "+- ")) spec.sign = text[at++];
  if (is(at, "#")) spec.alternate = true, ++at;
  if (is(at, "0")) {
    ++at;
    if (spec.align == 0) spec.fill = '0', spec.align = '=';
  }
  spec.width = read_number(text, at, kMaxWidth);
  if (is(at, ",_")) spec.grouping = text[at++];
  if (is(at, ".")) spec.precision = read_number(text, ++at, kMaxPrecision);
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) refuse("Invalid format specifier '{}'", text);
  return spec;
}

/// Filled to the width, as `otherwise` says where the specification has no alignment.
std::string pad(const std::string& prefix, const std::string& body, const Spec& spec, char otherwise,
                Budget& budget) {
  const char align = spec.align ? spec.align : otherwise;
  const size_t used = count_chars(prefix) + count_chars(body);
  const size_t width = static_cast<size_t>(spec.width);
  const size_t missing = width > used ? width - used : 0;
  budget.spend_text(used + missing);
  const auto fill = [&](size_t count) { return encode(std::u32string(count, spec.fill)); };
  if (align == '<') return prefix + body + fill(missing);
  if (align == '^') return fill(missing / 2) + prefix + body + fill(missing - missing / 2);
  if (align == '=') return prefix + fill(missing) + body;
  return fill(missing) + prefix + body;
}

std::string sign_of(bool negative, const Spec& spec) {
  if (negative) return "-";
  return spec.sign == '-' ? std::string() : std::string(1, spec.sign);
}

std::string group(std::string digits, char separator, size_t every) {
  if (separator == 0) return digits;
  size_t end = digits.find_first_not_of("0123456789abcdefABCDEF");
  if (end == std::string::npos) end = digits.size();
  for (size_t i = end; i > every; i -= every) digits.insert(i - every, 1, separator);
  return digits;
}

std::string in_base(uint64_t value, char type) {
  return fmt::format(fmt::runtime(fmt::format("{{:{}}}", type)), value);
}

std::string format_integer(int64_t value, const Spec& spec, Budget& budget) {
  const uint64_t magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string prefix = sign_of(value < 0, spec), digits;
  if (spec.precision >= 0) refuse("Precision not allowed in integer format specifier");
  switch (spec.type) {
    case 0:
    case 'd':
    case 'n':
      digits = group(fmt::format("{}", magnitude), spec.grouping, 3);
      break;
    case 'b':
    case 'o':
    case 'x':
    case 'X':
      digits = group(in_base(magnitude, spec.type), spec.grouping, 4);
      break;
    case 'c':
      if (value < 0 || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        refuse("no character {}", value);
      append(digits, static_cast<char32_t>(value));
      break;
    default:
      refuse("Unknown format code '{}' for object of type 'int'", spec.type);
  }
  if (spec.alternate && one_of(spec.type, "boxX")) (prefix += '0') += spec.type;
  return pad(prefix, digits, spec, '>', budget);
}

std::string printf_real(double value, char type, int precision, bool alternate) {
  const char format[] = {
      '%', alternate ? '#' : '.', alternate ? '.' : '*', alternate ? '*' : type, alternate ? type : '\0',
      '\0'};
  std::string out(static_cast<size_t>(std::snprintf(nullptr, 0, format, precision, value)) + 1, '\0');
  std::snprintf(out.data(), out.size(), format, precision, value);
  out.pop_back();
  return out;
}

std::string format_real(double value, const Spec& spec, Budget& budget) {
  const double magnitude = std::fabs(value);
  const auto digits_as = [&](char type, double shown) {
    return printf_real(shown, type, spec.precision < 0 ? 6 : spec.precision, spec.alternate);
  };
  std::string digits;
  if (spec.type == '%') {
    digits = digits_as('f', magnitude * 100) + "%";
  } else if (spec.type == 0 && spec.precision < 0) {
    digits = float_repr(magnitude);
  } else if (spec.type == 0 || spec.type == 'n') {
    digits = digits_as('g', magnitude);
    if (spec.type == 0 && digits.find_first_of(".en") == std::string::npos) digits += ".0";
  } else if (one_of(spec.type, kRealTypes)) {
    digits = digits_as(spec.type, magnitude);
  } else {
    refuse("Unknown format code '{}' for object of type 'float'", spec.type);
  }
  const bool negative = std::signbit(value) && !std::isnan(value);
  return pad(sign_of(negative, spec), group(digits, spec.grouping, 3), spec, '>', budget);
}

std::string format_text(const std::string& text, const Spec& spec, Budget& budget) {
  if (spec.type != 0 && spec.type != 's') {
    refuse("Unknown format code '{}' for object of type 'str'", spec.type);
  }
  if (spec.align == '=') refuse("'=' alignment not allowed in string format specifier");
  std::string shown = text;
  if (spec.precision >= 0) shown = encode(decode(text).substr(0, static_cast<size_t>(spec.precision)));
  return pad({}, shown, spec, '<', budget);
}

std::string format_value(const Value& value, std::string_view specification, Budget& budget) {
  if (specification.empty()) return to_text(value, budget);
  const Spec spec = parse_spec(specification);
  if (value.is_number()) {
    if (value.real() || spec.type == '%' || one_of(spec.type, kRealTypes))
      return format_real(value.number(), spec, budget);
    return format_integer(*value.index(), spec, budget);
  }
  if (!value.is_string()) refuse("unsupported format string passed to {}.__format__", value.type());
  return format_text(value.string()->text, spec, budget);
}

/// One conversion of a % format, the flags already read.
std::string convert(const Value& value, Spec spec, char type, Budget& budget) {
  if (type == 's' || type == 'r' || type == 'a') {
    spec.type = 0;
    if (spec.align == '=') spec.align = 0, spec.fill = ' ';
    if (spec.align == 0) spec.align = '>';
    return format_text(type == 's' ? to_text(value, budget) : repr(value, budget), spec, budget);
  }
  if (type == 'c' && value.is_string()) {
    if (count_chars(value.string()->text) != 1) refuse("%c requires int or char");
    return pad({}, value.string()->text, spec, '>', budget);
  }
  require_defined(value);
  if (!value.is_number()) refuse("%{} format: a real number is required, not {}", type, value.type());
  spec.type = type == 'i' || type == 'u' ? 'd' : type;
  if (one_of(type, kRealTypes)) return format_real(value.number(), spec, budget);
  if (!one_of(type, "diuxXoc")) refuse("unsupported format character '{}'", type);
  spec.precision = -1;
  if (value.index()) return format_integer(*value.index(), spec, budget);
  const double number = value.number();
  if (spec.type != 'd' || !(std::fabs(number) < 9.2e18))
    refuse("%{} format: an integer is required, not float", type);
  return format_integer(static_cast<int64_t>(number), spec, budget);
}

class PercentFormat {
 public:
  PercentFormat(std::string_view format, const Value& value, Budget& budget)
      : format_(format), value_(value), budget_(budget) {
    tuple_ = value.sequence() && value.sequence()->tuple ? value.sequence() : nullptr;
  }

  std::string run() {
    std::string out;
    while (at_ < format_.size()) {
      if (format_[at_] != '%') {
        out += format_[at_++];
      } else {
        ++at_;
        out += conversion();
      }
    }
    // Python counts whatever can be indexed as a mapping.
    const bool mapping = value_.dict() || value_.is_undefined() || (value_.sequence() && !tuple_);
    if (taken_ < (tuple_ ? tuple_->items.size() : 1) && !mapping) {
      refuse("not all arguments converted during string formatting");
    }
    return out;
  }

 private:
  const Value& next() {
    if (taken_ >= (tuple_ ? tuple_->items.size() : 1)) refuse("not enough arguments for format string");
    return tuple_ ? tuple_->items[taken_++] : (++taken_, value_);
  }

  int number_or_star(int limit) {
    if (at_ >= format_.size() || format_[at_] != '*') return read_number(format_, at_, limit);
    ++at_;
    const Value& value = next();
    if (!value.index() || *value.index() > limit || *value.index() < -limit)
      refuse("'*' in a format wants a small integer");
    return static_cast<int>(*value.index());
  }

  std::string conversion() {
    const Value* named = nullptr;
    if (at_ < format_.size() && format_[at_] == '(') {
      const size_t end = format_.find(')', at_);
      if (end == std::string_view::npos) refuse("incomplete format key");
      if (!value_.dict()) refuse("format requires a mapping");
      const std::string_view key = format_.substr(at_ + 1, end - at_ - 1);
      named = value_.dict()->find(key);
      if (!named) refuse("'{}' is no key of the mapping to format", key);
      at_ = end + 1;
    }
    Spec spec;
    for (; at_ < format_.size() && one_of(format_[at_], "-+ #0"); ++at_) {
      const char flag = format_[at_];
      if (flag == '-') spec.align = '<', spec.fill = ' ';
      if (flag == '0' && spec.align == 0) spec.align = '=', spec.fill = '0';
      if (flag == '+' || (flag == ' ' && spec.sign != '+')) spec.sign = flag;
      if (flag == '#') spec.alternate = true;
    }
    spec.width = number_or_star(kMaxWidth);
    if (spec.width < 0) spec.align = '<', spec.fill = ' ', spec.width = -spec.width;
    if (at_ < format_.size() && format_[at_] == '.') spec.precision = (++at_, number_or_star(kMaxPrecision));
    if (at_ >= format_.size()) refuse("incomplete format");
    const char type = format_[at_++];
    if (type == '%') return "%";
    return convert(named ? *named : next(), spec, type, budget_);
  }

  std::string_view format_;
  const Value& value_;
  Budget& budget_;
  const Sequence* tuple_ = nullptr;
  size_t at_ = 0, taken_ = 0;
};

class BraceFormat {
 public:
  BraceFormat(const Arguments& arguments, Budget& budget) : arguments_(arguments), budget_(budget) {}

  std::string run(std::string_view format, int level) {
    if (level > 1) refuse("Max string recursion exceeded");
    std::string out;
    for (size_t at = 0; at < format.size();) {
      const char c = format[at++];
      if ((c == '{' || c == '}') && at < format.size() && format[at] == c) {
        out += c;
        ++at;
      } else if (c == '}') {
        refuse("Single '}}' encountered in format string");
      } else if (c == '{') {
        const size_t end = field_end(format, at);
        out += field(format.substr(at, end - at), level);
        at = end + 1;
      } else {
        out += c;
      }
    }
    return out;
  }

 private:
  static size_t field_end(std::string_view format, size_t at) {
    int open = 0;
    for (; at < format.size(); ++at) {
      if (format[at] == '}' && open-- == 0) return at;
      if (format[at] == '{') ++open;
    }
    refuse("expected '}}' before end of string");
  }

  std::string field(std::string_view text, int level) {
    const size_t name_end = std::min(text.find_first_of("!:"), text.size());
    Value value = lookup(text.substr(0, name_end));
    std::string_view rest = text.substr(name_end);
    if (!rest.empty() && rest[0] == '!') {
      if (rest.size() < 2 || !one_of(rest[1], "sra")) refuse("Unknown conversion specifier in format string");
      value = Value(rest[1] == 's' ? to_text(value, budget_) : repr(value, budget_));
      rest.remove_prefix(2);
    }
    if (!rest.empty() && rest[0] != ':') refuse("expected ':' after conversion specifier");
    const std::string spec = rest.empty() ? std::string() : run(rest.substr(1), level + 1);
    return format_value(value, spec, budget_);
  }

  Value argument(std::string_view name) {
    size_t index = next_;
    if (name.empty()) {
      ++next_;
    } else if (name.find_first_not_of("0123456789") == std::string_view::npos) {
      size_t at = 0;
      index = static_cast<size_t>(read_number(name, at, kMaxWidth));
    } else {
      for (const auto& [key, value] : arguments_.named) {
        if (key == name) return value;
      }
      refuse("no argument '{}' to format", name);
    }
    if (index >= arguments_.positional.size()) {
      refuse("Replacement index {} out of range for positional args tuple", index);
    }
    return arguments_.positional[index];
  }

  Value lookup(std::string_view path) {
    size_t at = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, at));
    while (at < path.size()) {
      const bool item = path[at] == '[';
      const size_t end = item ? path.find(']', at) : std::min(path.find_first_of(".[", at + 1), path.size());
      if (end == std::string_view::npos) refuse("Missing ']' in format string");
      const std::string_view key = path.substr(at + 1, end - at - 1);
      const bool digits = !key.empty() && key.find_first_not_of("0123456789") == std::string_view::npos;
      size_t start = 0;
      if (!item)
        value = get_attribute(value, std::string(key), budget_);
      else
        value = get_item(value, digits ? Value(int64_t{read_number(key, start, kMaxWidth)}) : Value(key),
                         budget_);
      at = item ? end + 1 : end;
    }
    return value;
  }

  const Arguments& arguments_;
  Budget& budget_;
  size_t next_ = 0;
};

}  // namespace

std::string percent_format(std::string_view format, const Value& value, Budget& budget) {
  budget.spend_text(format.size());
  return PercentFormat(format, value, budget).run();
}

std::string brace_format(std::string_view format, const Arguments& arguments, Budget& budget) {
  budget.spend_text(format.size());
  return BraceFormat(arguments, budget).run(format, 0);
}

}  // namespace nereus::text::jinja
