#include "nereus/text/jinja_filters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

#include "nereus/text/jinja_access.h"
#include "nereus/text/jinja_arguments.h"
#include "nereus/text/jinja_format.h"
#include "nereus/text/jinja_operators.h"
#include "nereus/text/jinja_print.h"
#include "nereus/text/jinja_string_methods.h"
#include "nereus/text/jinja_unicode.h"

namespace nereus::text::jinja {
namespace {

/// The text that a filter works on, and text it made with the same markup.
struct Subject {
  Subject(const Value& value, Budget& budget)
      : text(to_text(value, budget)), markup(value.string() && value.string()->markup) {
    budget.spend_text(4 * text.size());
  }
  Value with(std::string result) const { return Value(std::move(result), markup); }

  std::string text;
  bool markup;
};

std::string title_words(std::string_view text) {
  // Unlike str.title: a capital after spaces, '-' and opening brackets only.
  std::string out;
  bool start = true;
  for (size_t at = 0; at < text.size();) {
    const size_t here = at;
    const char32_t c = next_char(text, at);
    const std::string_view piece = text.substr(here, at - here);
    out += start ? upper(piece) : lower(piece);
    start = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  }
  return out;
}

template <std::string (*map)(std::string_view)>
Value mapped(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("the filter", arguments, {});
  const Subject subject(value, budget);
  return subject.with(map(subject.text));
}

Value trim(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("trim", arguments, {"chars"});
  const Subject subject(value, budget);
  const std::u32string chars = bound.given(0) ? decode(bound.text(0)) : std::u32string();
  budget.spend(chars.size() * subject.text.size() / 16);
  return subject.with(std::string(strip(subject.text, bound.given(0) ? &chars : nullptr, true, true)));
}

Value replaced(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const int64_t count = bound.given(2) ? bound.integer(2, -1) : -1;
  return Value(
      replace(to_text(value, budget), to_text(*bound[0], budget), to_text(*bound[1], budget), count, budget));
}

Value as_string(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("string", arguments, {});
  return value.is_string() ? value : Value(to_text(value, budget));
}

Value safe(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("safe", arguments, {});
  return Value(to_text(value, budget), true);
}

template <bool always>
Value escape(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("escape", arguments, {});
  const Subject subject(value, budget);
  return Value(subject.markup && !always ? subject.text : escape_html(subject.text), true);
}

Value indent(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  require_defined(value);
  if (!value.is_string()) refuse("indent() wants a string, not {}", value.type());
  std::string margin;
  if (bound[0] && bound[0]->is_string()) {
    margin = bound.text(0);
  } else {
    const int64_t width = bound.integer(0, 4);
    budget.spend_text(width > 0 ? static_cast<uint64_t>(width) : 0);
    margin.assign(width > 0 ? static_cast<size_t>(width) : 0, ' ');
  }
  const Subject subject(value, budget);
  const std::vector<std::string> lines = split_lines(subject.text + "\n");
  std::string out = bound.truth(1, false) ? margin : std::string();
  for (size_t i = 0; i < lines.size(); ++i) {
    budget.spend_text(margin.size() + lines[i].size());
    if (i > 0) out += '\n';
    if (i > 0 && (bound.truth(2, false) || !lines[i].empty())) out += margin;
    out += lines[i];
  }
  return subject.with(std::move(out));
}

Value centered(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("center", arguments, {"width"});
  const Subject subject(value, budget);
  return subject.with(center(subject.text, bound.integer(0, 80), ' ', budget));
}

Value wordcount(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("wordcount", arguments, {});
  int64_t words = 0;
  bool inside = false;
  for (const char32_t c : decode(Subject(value, budget).text)) {
    const bool word = is_alpha(c) || is_numeric(c) || c == '_';
    words += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value(words);
}

Value truncate(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const Subject subject(value, budget);
  const std::string end = bound[2] ? bound.text(2) : "...";
  const auto end_size = static_cast<int64_t>(count_chars(end));
  const int64_t most = bound.integer(0, 255), leeway = bound.given(3) ? bound.integer(3, 5) : 5;
  if (most < end_size) refuse("expected length >= {}, got {}", end_size, most);
  if (leeway < 0) refuse("expected leeway >= 0, got {}", leeway);
  if (length(value, budget) - leeway <= most) return value;  // also what is no string
  if (!value.is_string()) refuse("truncate() wants a string, not {}", value.type());
  const std::u32string chars = decode(subject.text);
  std::string kept = encode(chars.substr(0, static_cast<size_t>(most - end_size)));
  if (!bound.truth(1, false)) kept = kept.substr(0, kept.rfind(' '));
  return subject.with(kept + end);
}

Value urlencode(const Value& value, const Arguments& arguments, Budget& budget) {
  Bound("urlencode", arguments, {});
  if (value.dict() || value.sequence())
    refuse("urlencode wants a string or a number, not a {}", value.type());
  std::string out;
  for (const char c : Subject(value, budget).text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("_.-~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return Value(std::move(out));
}

Value percent(const Value& value, const Arguments& arguments, Budget& budget) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    refuse("can't handle positional and keyword arguments at the same time");
  }
  const std::string format = to_text(value, budget);
  if (arguments.named.empty())
    return Value(percent_format(format, Value::tuple(arguments.positional), budget));
  DictBuilder names(budget);
  for (const auto& [name, item] : arguments.named) names.set(Value(name), item);
  return Value(percent_format(format, names.build(), budget));
}

std::optional<std::string> optional_text(const Value* value) {
  if (!value) return std::nullopt;
  if (!value->is_string()) refuse("tojson() expects strings as separators, not {}", value->type());
  return value->string()->text;
}

/// As Transformers defines it: json.dumps(value, ensure_ascii, indent, separators, sort_keys), nothing
/// escaped.
Value tojson(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.truth(0, false);
  style.sort_keys = bound.truth(3, false);
  if (const Value* indent = bound.given(1)) {
    if (!indent->is_string()) {
      const int64_t width = bound.integer(1, 0);
      if (width > 1000) refuse("tojson() with an indent above 1000");
      style.indent = std::string(width > 0 ? static_cast<size_t>(width) : 0, ' ');
    } else {
      style.indent = bound.text(1);
    }
    style.item_separator = ',';
  }
  if (const Value* separators = bound.given(2)) {
    const auto pair = iterate(*separators, budget);
    if (pair.size() != 2) refuse("tojson() expects two separators");
    style.item_separator = *optional_text(&pair[0]);
    style.key_separator = *optional_text(&pair[1]);
  }
  return Value(to_json(value, style, budget));
}

/// int(text, base), or nullopt where the text is no integer.
std::optional<int64_t> parse_integer(std::string text, int base) {
  text = std::string(strip(text, nullptr, true, true));
  std::erase(text, '_');
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.erase(0, 1);
  const char letter = text.size() > 2 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : ' ';
  const bool prefixed =
      (base == 16 && letter == 'x') || (base == 8 && letter == 'o') || (base == 2 && letter == 'b');
  if (prefixed) text.erase(0, 2);
  if (text.empty() || text[0] == '-') return std::nullopt;
  int64_t value = 0;
  text = fmt::format("{}{}", negative ? "-" : "", text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error == std::errc::result_out_of_range) refuse("an integer needs more than 64 bits");
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<double> parse_real(std::string text) {
  text = std::string(strip(text, nullptr, true, true));
  std::erase(text, '_');
  if (text.find_first_of("xXpP(") != std::string::npos) return std::nullopt;  // strtod reads more than Python
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> truncated(double value) {
  if (!std::isfinite(value) || std::fabs(value) >= 9.2e18) return std::nullopt;
  return static_cast<int64_t>(value);
}

Value as_integer(const Value& value, const Arguments& arguments, Budget&) {
  const Bound bound("int", arguments, {"default", "base"});
  require_defined(value);
  const int64_t base = bound.integer(1, 10);
  if (base < 2 || base > 36) refuse("int() base must be >= 2 and <= 36");
  std::optional<int64_t> result = value.index();
  if (value.real()) result = truncated(*value.real());
  if (const String* string = value.string()) {
    result = parse_integer(string->text, static_cast<int>(base));
    const auto real = result ? std::nullopt : parse_real(string->text);
    if (real) result = truncated(*real);
  }
  if (result) return Value(*result);
  return bound[0] ? *bound[0] : Value(int64_t{0});
}

Value as_real(const Value& value, const Arguments& arguments, Budget&) {
  const Bound bound("float", arguments, {"default"});
  require_defined(value);
  if (value.is_number()) return Value(value.number());
  const auto real = value.string() ? parse_real(value.string()->text) : std::nullopt;
  if (real) return Value(*real);
  return bound[0] ? *bound[0] : Value(0.0);
}

Value absolute(const Value& value, const Arguments& arguments, Budget&) {
  Bound("abs", arguments, {});
  require_defined(value);
  if (!value.is_number()) refuse("bad operand type for abs(): '{}'", value.type());
  const bool negative = value.number() < 0 || (value.real() && std::signbit(*value.real()));
  return signed_value(value, negative);
}

double rounded(double value, int64_t digits, const std::string& method) {
  if (method == "common") {
    if (digits > 300 || !std::isfinite(value)) return value;
    if (digits <= 0) {
      const double unit = std::pow(10.0, static_cast<double>(-digits));
      return std::isinf(unit) ? 0.0 : std::nearbyint(value / unit) * unit;
    }
    return std::strtod(fmt::format("{:.{}f}", value, digits).c_str(), nullptr);
  }
  const double unit = std::pow(10.0, static_cast<double>(digits));
  return (method == "ceil" ? std::ceil(value * unit) : std::floor(value * unit)) / unit;
}

Value round(const Value& value, const Arguments& arguments, Budget&) {
  const Bound bound("round", arguments, {"precision", "method"});
  const std::string method = bound[1] ? bound.text(1) : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    refuse("method must be common, ceil or floor");
  require_defined(value);
  if (!value.is_number()) refuse("type {} doesn't define __round__ method", value.type());
  const int64_t digits = std::clamp<int64_t>(bound.integer(0, 0), -400, 400);
  const double result = rounded(value.number(), digits, method);
  if (method != "common" || !value.index()) return Value(result);
  const auto whole = digits >= 0 ? value.index() : truncated(result);
  if (!whole) refuse("an integer needs more than 64 bits");
  return Value(*whole);
}

Value fallback(const Value& value, const Arguments& arguments, Budget&) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  if (!value.is_undefined() && !(bound.truth(1, false) && !truthy(value))) return value;
  return bound[0] ? *bound[0] : Value("");
}

Value attribute(const Value& value, const Arguments& arguments, Budget& budget) {
  const Bound bound("attr", arguments, {"name"}, 1);
  if (value.dict()) {  // attributes only, no items
    const std::string& name = bound.text(0);
    const Value found = get_attribute(value, name, budget);
    return found.function() ? found : Value(Undefined{name, value.object_name()});
  }
  return get_attribute(value, bound.text(0), budget);
}

}  // namespace

FilterFunction find_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, FilterFunction> kFilters{
      {"abs", absolute},
      {"attr", attribute},
      {"capitalize", mapped<capitalize>},
      {"center", centered},
      {"d", fallback},
      {"default", fallback},
      {"e", escape<false>},
      {"escape", escape<false>},
      {"float", as_real},
      {"forceescape", escape<true>},
      {"format", percent},
      {"indent", indent},
      {"int", as_integer},
      {"lower", mapped<lower>},
      {"replace", replaced},
      {"round", round},
      {"safe", safe},
      {"string", as_string},
      {"title", mapped<title_words>},
      {"tojson", tojson},
      {"trim", trim},
      {"truncate", truncate},
      {"upper", mapped<upper>},
      {"urlencode", urlencode},
      {"wordcount", wordcount}};
  const auto found = kFilters.find(name);
  return found == kFilters.end() ? find_sequence_filter(name) : found->second;
}

}  // namespace nereus::text::jinja
