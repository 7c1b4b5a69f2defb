#include "nereus/text/jinja_string_methods.h"

#include <algorithm>
#include <unordered_map>

#include "nereus/text/jinja_arguments.h"
#include "nereus/text/jinja_format.h"
#include "nereus/text/jinja_operators.h"
#include "nereus/text/jinja_unicode.h"

namespace nereus::text::jinja {
namespace {

const std::string& text_of(const Value& object) {
  return object.string()->text;
}

template <std::string (*map)(std::string_view)>
Value mapped(const Value& object, const Arguments& arguments, Budget&) {
  Bound("the method", arguments, {});
  return Value(map(text_of(object)));
}

template <bool left, bool right>
Value stripped(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound("strip", arguments, {"chars"});
  if (!bound.given(0)) return Value(strip(text_of(object), nullptr, left, right));
  const std::u32string chars = decode(bound.text(0));
  budget.spend(chars.size() * text_of(object).size() / 16);
  return Value(strip(text_of(object), &chars, left, right));
}

/// Words between spaces, at most `most` cuts (all where negative) counted from the left or the right; what is
/// left over keeps the spaces on its far side.
std::vector<Value> split_spaces(std::string_view text, int64_t most, bool from_right) {
  std::vector<std::pair<size_t, size_t>> words;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const size_t here = at;
    const bool space = is_space(next_char(text, at));
    if (!space && !inside) words.emplace_back(here, at);
    if (!space) words.back().second = at;
    inside = !space;
  }
  const size_t cuts = most < 0 ? words.size() : std::min(words.size(), static_cast<size_t>(most));
  if (cuts < words.size()) {
    const size_t first = from_right ? 0 : cuts,
                 last = from_right ? words.size() - cuts - 1 : words.size() - 1;
    const std::pair<size_t, size_t> rest{from_right ? 0 : words[first].first,
                                         from_right ? words[last].second : text.size()};
    words.erase(words.begin() + static_cast<int64_t>(first), words.begin() + static_cast<int64_t>(last) + 1);
    words.insert(words.begin() + static_cast<int64_t>(first), rest);
  }
  std::vector<Value> pieces;
  for (const auto& [start, end] : words) pieces.emplace_back(text.substr(start, end - start));
  return pieces;
}

std::vector<Value> split_at(std::string_view text, std::string_view separator, int64_t most,
                            bool from_right) {
  std::vector<Value> pieces;
  while (most-- != 0) {
    const size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos) break;
    pieces.emplace_back(from_right ? text.substr(at + separator.size()) : text.substr(0, at));
    text = from_right ? text.substr(0, at) : text.substr(at + separator.size());
  }
  pieces.emplace_back(text);
  if (from_right) std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

template <bool from_right>
Value split(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound(from_right ? "rsplit" : "split", arguments, {"sep", "maxsplit"});
  const int64_t most = bound.integer(1, -1);
  std::vector<Value> pieces;
  if (!bound.given(0)) {
    budget.spend(text_of(object).size() / 2);
    pieces = split_spaces(text_of(object), most < 0 ? -1 : most, from_right);
  } else {
    if (bound.text(0).empty()) refuse("empty separator");
    pieces = split_at(text_of(object), bound.text(0), most < 0 ? -1 : most, from_right);
  }
  budget.spend(3 * pieces.size());
  return Value::list(std::move(pieces));
}

template <bool from_right>
Value partition(const Value& object, const Arguments& arguments, Budget&) {
  const Bound bound("partition", arguments, {"sep"}, 1);
  const std::string &text = text_of(object), &separator = bound.text(0);
  if (separator.empty()) refuse("empty separator");
  const size_t at = from_right ? text.rfind(separator) : text.find(separator);
  const bool found = at != std::string::npos;
  const Value empty("");
  if (!found) return from_right ? Value::tuple({empty, empty, object}) : Value::tuple({object, empty, empty});
  return Value::tuple(
      {Value(text.substr(0, at)), Value(separator), Value(text.substr(at + separator.size()))});
}

/// `text` cut to the characters from `start` to `end`, as the optional arguments of many methods want it.
struct Window {
  std::string_view text;
  int64_t start;  ///< in characters
  bool valid;     ///< false where `start` lies behind the text
};

Window window(const Value& object, const Bound& bound) {
  const std::string_view text = text_of(object);
  if (!bound.given(1) && !bound.given(2)) return {text, 0, true};
  const auto size = static_cast<int64_t>(count_chars(text));
  const auto clamp = [&](size_t i, int64_t otherwise) {
    if (!bound.given(i)) return otherwise;
    const int64_t value = bound.integer(i, otherwise);
    return std::max<int64_t>(value < 0 ? value + size : value, 0);
  };
  const int64_t start = clamp(1, 0), end = std::min(clamp(2, size), size);
  if (start > size || end < start) return {{}, start, start <= end};
  const auto byte_of = [&](int64_t chars) {
    size_t at = 0;
    for (int64_t i = 0; i < chars; ++i) next_char(text, at);
    return at;
  };
  return {text.substr(byte_of(start), byte_of(end) - byte_of(start)), start, true};
}

template <bool at_end>
Value has_affix(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound(at_end ? "endswith" : "startswith", arguments, {"affix", "start", "end"}, 1);
  const Window part = window(object, bound);
  const auto matches = [&](const std::string& affix) {
    budget.spend_text(affix.size());
    return part.valid && (at_end ? part.text.ends_with(affix) : part.text.starts_with(affix));
  };
  if (!bound[0]->sequence() || !bound[0]->sequence()->tuple) return Value(matches(bound.text(0)));
  for (const Value& affix : bound[0]->sequence()->items) {
    if (!affix.is_string()) refuse("tuple for startswith must only contain str, not {}", affix.type());
    if (matches(affix.string()->text)) return Value(true);
  }
  return Value(false);
}

template <bool from_right, bool must_exist>
Value find(const Value& object, const Arguments& arguments, Budget&) {
  const Bound bound("find", arguments, {"sub", "start", "end"}, 1);
  const Window part = window(object, bound);
  const size_t at = from_right ? part.text.rfind(bound.text(0)) : part.text.find(bound.text(0));
  if (at != std::string_view::npos && part.valid) {
    return Value(part.start + static_cast<int64_t>(count_chars(part.text.substr(0, at))));
  }
  if (must_exist) refuse("substring not found");
  return Value(int64_t{-1});
}

Value count(const Value& object, const Arguments& arguments, Budget&) {
  const Bound bound("count", arguments, {"sub", "start", "end"}, 1);
  const Window part = window(object, bound);
  const std::string& sought = bound.text(0);
  if (!part.valid) return Value(int64_t{0});
  if (sought.empty()) return Value(static_cast<int64_t>(count_chars(part.text)) + 1);
  int64_t found = 0;
  for (size_t at = part.text.find(sought); at != std::string_view::npos; ++found) {
    at = part.text.find(sought, at + sought.size());
  }
  return Value(found);
}

Value replaced(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  return Value(replace(text_of(object), bound.text(0), bound.text(1), bound.integer(2, -1), budget));
}

Value join(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound("join", arguments, {"iterable"}, 1);
  const auto items = iterate(*bound[0], budget);
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    const Value& item = items[i];
    if (!item.is_string()) refuse("sequence item {}: expected str instance, {} found", i, item.type());
    if (i > 0) out += text_of(object);
    out += item.string()->text;
    budget.spend_text(text_of(object).size() + item.string()->text.size());
  }
  return Value(std::move(out));
}

Value splitlines(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound("splitlines", arguments, {"keepends"});
  std::vector<Value> lines;
  for (std::string& line : split_lines(text_of(object), bound.truth(0, false)))
    lines.emplace_back(std::move(line));
  budget.spend(3 * lines.size());
  return Value::list(std::move(lines));
}

/// All characters fulfil `holds`, and there is one.
template <bool (*holds)(char32_t)>
Value all(const Value& object, const Arguments& arguments, Budget&) {
  Bound("the method", arguments, {});
  const std::u32string chars = decode(text_of(object));
  return Value(!chars.empty() && std::all_of(chars.begin(), chars.end(), holds));
}

bool is_alnum(char32_t c) {
  return is_alpha(c) || is_numeric(c);
}

/// There is a cased character, and none of the other case.
template <bool (*other)(char32_t)>
Value cased(const Value& object, const Arguments& arguments, Budget&) {
  Bound("the method", arguments, {});
  const std::u32string chars = decode(text_of(object));
  return Value(std::any_of(chars.begin(), chars.end(), is_cased) &&
               std::none_of(chars.begin(), chars.end(), other));
}

Value istitle(const Value& object, const Arguments& arguments, Budget&) {
  Bound("istitle", arguments, {});
  bool inside = false, any = false;
  for (const char32_t c : decode(text_of(object))) {
    if (inside ? is_upper(c) : is_lower(c)) return Value(false);
    inside = is_cased(c);
    any = any || inside;
  }
  return Value(any);
}

std::string filled(size_t missing, char32_t fill, Budget& budget) {
  budget.spend_text(missing);
  return encode(std::u32string(missing, fill));
}

size_t missing_chars(const std::string& text, int64_t width) {
  const auto used = static_cast<int64_t>(count_chars(text));
  if (width > (int64_t{1} << 30)) refuse("a width above 2^30");
  return width > used ? static_cast<size_t>(width - used) : 0;
}

enum class Side { kLeft, kCenter, kRight };

template <Side side>
Value justified(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound("justify", arguments, {"width", "fillchar"}, 1);
  const std::u32string fill = bound[1] ? decode(bound.text(1)) : U" ";
  if (fill.size() != 1) refuse("The fill character must be exactly one character long");
  const std::string& text = text_of(object);
  const int64_t width = bound.integer(0, 0);
  if (side == Side::kCenter) return Value(center(text, width, fill[0], budget));
  const std::string space = filled(missing_chars(text, width), fill[0], budget);
  return Value(side == Side::kLeft ? text + space : space + text);
}

Value zfill(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound("zfill", arguments, {"width"}, 1);
  const std::string& text = text_of(object);
  const std::string zeros = filled(missing_chars(text, bound.integer(0, 0)), '0', budget);
  const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  return Value(text.substr(0, sign) + zeros + text.substr(sign));
}

template <bool at_end>
Value without_affix(const Value& object, const Arguments& arguments, Budget&) {
  const Bound bound("removeprefix", arguments, {"affix"}, 1);
  const std::string &text = text_of(object), &affix = bound.text(0);
  if (!(at_end ? text.ends_with(affix) : text.starts_with(affix))) return Value(text);
  return Value(at_end ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size()));
}

Value expandtabs(const Value& object, const Arguments& arguments, Budget& budget) {
  const Bound bound("expandtabs", arguments, {"tabsize"});
  const int64_t size = std::clamp<int64_t>(bound.integer(0, 8), 0, 1024);
  std::string out;
  int64_t column = 0;
  for (const char32_t c : decode(text_of(object))) {
    if (c == '\t') {
      const int64_t gap = size > 0 ? size - column % size : 0;
      out += filled(static_cast<size_t>(gap), ' ', budget);
      column += gap;
    } else {
      append(out, c);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return Value(std::move(out));
}

Value format(const Value& object, const Arguments& arguments, Budget& budget) {
  return Value(brace_format(text_of(object), arguments, budget));
}

}  // namespace

std::string center(const std::string& text, int64_t width, char32_t fill, Budget& budget) {
  const size_t missing = missing_chars(text, width);
  // Python puts the odd one left where the width is odd, else right.
  const size_t left = missing / 2 + (missing & static_cast<size_t>(width) & 1);
  return filled(left, fill, budget) + text + filled(missing - left, fill, budget);
}

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
  const auto ends_line = [](char32_t c) {
    return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
  };
  std::vector<std::string> lines;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t here = at;
    const char32_t c = next_char(text, at);
    if (!ends_line(c)) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.emplace_back(text.substr(start, (keep_ends ? at : here) - start));
    start = at;
  }
  if (start < text.size()) lines.emplace_back(text.substr(start));
  return lines;
}

std::string replace(std::string_view text, std::string_view old, std::string_view with, int64_t most,
                    Budget& budget) {
  std::string out;
  const auto put = [&](std::string_view piece) {
    budget.spend_text(piece.size());
    out += piece;
  };
  size_t at = 0;
  while (most != 0) {
    if (old.empty() && at > text.size()) break;
    const size_t found = old.empty() ? at : text.find(old, at);
    if (found == std::string_view::npos) break;
    put(text.substr(at, found - at));
    put(with);
    at = found + old.size();
    --most;
    if (!old.empty()) continue;
    if (at == text.size()) return out;  // an empty `old` stands before and behind every character
    const size_t start = at;
    next_char(text, at);
    put(text.substr(start, at - start));
  }
  if (at < text.size()) put(text.substr(at));
  return out;
}

Method find_string_method(std::string_view name) {
  static const std::unordered_map<std::string_view, Method> kMethods{{"capitalize", mapped<capitalize>},
                                                                     {"casefold", mapped<fold_case>},
                                                                     {"center", justified<Side::kCenter>},
                                                                     {"count", count},
                                                                     {"endswith", has_affix<true>},
                                                                     {"expandtabs", expandtabs},
                                                                     {"find", find<false, false>},
                                                                     {"format", format},
                                                                     {"index", find<false, true>},
                                                                     {"isalnum", all<is_alnum>},
                                                                     {"isalpha", all<is_alpha>},
                                                                     {"isdecimal", all<is_decimal>},
                                                                     {"isdigit", all<is_digit>},
                                                                     {"islower", cased<is_upper>},
                                                                     {"isnumeric", all<is_numeric>},
                                                                     {"isspace", all<is_space>},
                                                                     {"istitle", istitle},
                                                                     {"isupper", cased<is_lower>},
                                                                     {"join", join},
                                                                     {"ljust", justified<Side::kLeft>},
                                                                     {"lower", mapped<lower>},
                                                                     {"lstrip", stripped<true, false>},
                                                                     {"partition", partition<false>},
                                                                     {"removeprefix", without_affix<false>},
                                                                     {"removesuffix", without_affix<true>},
                                                                     {"replace", replaced},
                                                                     {"rfind", find<true, false>},
                                                                     {"rindex", find<true, true>},
                                                                     {"rjust", justified<Side::kRight>},
                                                                     {"rpartition", partition<true>},
                                                                     {"rsplit", split<true>},
                                                                     {"rstrip", stripped<false, true>},
                                                                     {"split", split<false>},
                                                                     {"splitlines", splitlines},
                                                                     {"startswith", has_affix<false>},
                                                                     {"strip", stripped<true, true>},
                                                                     {"swapcase", mapped<swap_case>},
                                                                     {"title", mapped<title>},
                                                                     {"upper", mapped<upper>},
                                                                     {"zfill", zfill}};
  const auto found = kMethods.find(name);
  return found == kMethods.end() ? nullptr : found->second;
}

}  // namespace nereus::text::jinja
