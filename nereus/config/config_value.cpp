#include "nereus/config/config_value.h"

#include <fmt/ranges.h>

#include <charconv>
#include <optional>

namespace nereus::config {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (const auto code = static_cast<unsigned char>(c); code < 0x20 || code == 0x7f) {
      out += fmt::format("\\u{:04X}", code);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number_text(double value) {
  std::string text = fmt::format("{}", value);
  const bool float_like = text.find_first_of(".einf") != std::string::npos;  // nan holds an n
  return float_like ? text : text + ".0";
}

template <class T>
std::optional<T> whole(const std::string& text) {
  T value{};
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  size_t begin = 0;
  for (size_t comma; (comma = text.find(',', begin)) != std::string::npos; begin = comma + 1)
    parts.push_back(text.substr(begin, comma - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

ConfigValue list_from_text(const std::string& text) {
  if (!text.starts_with('[')) return split_list(text);
  const auto entries = parse_toml("list = " + text, "command line");
  if (!entries || entries->size() != 1) return text;
  return entries->front().value;
}

}  // namespace

std::string to_toml(const ConfigValue& value) {
  struct Print {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return number_text(v); }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(const std::vector<std::string>& v) const {
      std::vector<std::string> parts;
      for (const auto& part : v) parts.push_back(quoted(part));
      return fmt::format("[{}]", fmt::join(parts, ", "));
    }
  };
  return std::visit(Print{}, value);
}

ConfigValue value_from_text(const std::string& text, KeyKind kind) {
  switch (kind) {
    case KeyKind::boolean:
      if (text == "true") return true;
      if (text == "false") return false;
      return text;
    case KeyKind::integer:
      if (const auto value = whole<int64_t>(text)) return *value;
      if (const auto value = whole<double>(text)) return *value;
      return text;
    case KeyKind::number:
      if (const auto value = whole<double>(text)) return *value;
      return text;
    case KeyKind::list:
      return list_from_text(text);
    default:
      return text;
  }
}

}  // namespace nereus::config
