#include "nereus/text/jinja_print.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "nereus/text/jinja_operators.h"
#include "nereus/text/jinja_unicode.h"

namespace nereus::text::jinja {
namespace {

std::string string_repr(const String& string) {
  const std::string& text = string.text;
  const bool doubled = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
  const char32_t quote = doubled ? '"' : '\'';
  std::string out(1, static_cast<char>(quote));
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_char(text, at);
    if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\\' || c == quote)
      (out += '\\') += static_cast<char>(c);
    else if (is_printable(c))
      append(out, c);
    else if (c < 0x100)
      out += fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
    else if (c < 0x10000)
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    else
      out += fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
  }
  out += static_cast<char>(quote);
  return string.markup ? fmt::format("Markup({})", out) : out;
}

/// Recursion is bounded by the depth of values, except through namespaces, hence `level`.
void print(const Value& value, std::string& out, Budget& budget, int level);

std::string print_whole(const Value& value, Budget& budget, int level) {
  std::string out;
  print(value, out, budget, level);
  return out;
}

void print_sequence(const Sequence& sequence, std::string& out, Budget& budget, int level) {
  out += sequence.tuple ? '(' : '[';
  for (size_t i = 0; i < sequence.items.size(); ++i) {
    if (i > 0) out += ", ";
    print(sequence.items[i], out, budget, level);
  }
  if (sequence.tuple && sequence.items.size() == 1) out += ',';
  out += sequence.tuple ? ')' : ']';
}

void print_dict(const Dict& dict, std::string& out, Budget& budget, int level) {
  out += '{';
  for (size_t i = 0; i < dict.items.size(); ++i) {
    if (i > 0) out += ", ";
    print(dict.items[i].first, out, budget, level);
    out += ": ";
    print(dict.items[i].second, out, budget, level);
  }
  out += '}';
}

void print_namespace(const Namespace& space, std::string& out, Budget& budget, int level) {
  out += "<Namespace {";
  for (size_t i = 0; i < space.attributes.size(); ++i) {
    if (i > 0) out += ", ";
    out += string_repr({space.attributes[i].first}) + ": " +
           print_whole(space.attributes[i].second, budget, level);
  }
  out += "}>";
}

void print(const Value& value, std::string& out, Budget& budget, int level) {
  if (level > kMaxValueDepth) refuse("a value nested too deep to print");
  const size_t before = out.size();
  if (value.is_none())
    out += "None";
  else if (const bool* truth = value.boolean())
    out += *truth ? "True" : "False";
  else if (const int64_t* integer = value.integer())
    out += std::to_string(*integer);
  else if (const double* real = value.real())
    out += float_repr(*real);
  else if (value.undefined())
    out += "Undefined";
  else if (const String* string = value.string())
    out += string_repr(*string);
  else if (const Sequence* sequence = value.sequence())
    print_sequence(*sequence, out, budget, level + 1);
  else if (const Dict* dict = value.dict())
    print_dict(*dict, out, budget, level + 1);
  else if (const Namespace* space = value.space())
    print_namespace(*space, out, budget, level + 1);
  else if (const Loop* loop = value.loop())
    out += fmt::format("<LoopContext {}/{}>", loop->index + 1, loop->items->items.size());
  else
    out += fmt::format("<Macro '{}'>", value.function()->name);
  budget.spend_text(out.size() - before);
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Budget& budget) : style_(style), budget_(budget) {}

  void write(const Value& value, int level);
  std::string out;

 private:
  void string(std::string_view text);
  void number(double value);
  void key(const Value& key);
  void sequence(const Sequence& sequence, int level);
  void dict(const Dict& dict, int level);
  void line(int level) {
    if (!style_.indent) return;
    budget_.spend_text(style_.indent->size() * static_cast<size_t>(level));
    out += '\n';
    for (int i = 0; i < level; ++i) out += *style_.indent;
  }

  void separator(size_t i) {
    budget_.spend_text(style_.item_separator.size() + style_.key_separator.size());
    if (i > 0) out += style_.item_separator;
  }

  const JsonStyle& style_;
  Budget& budget_;
};

void JsonWriter::string(std::string_view text) {
  budget_.spend_text(text.size());
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t c = next_char(text, at);
    if (c == '"' || c == '\\')
      (out += '\\') += static_cast<char>(c);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\b')
      out += "\\b";
    else if (c == '\f')
      out += "\\f";
    else if (c >= 0x20 && (c < 0x7F || !style_.ensure_ascii))
      out += text.substr(start, at - start);
    else if (c < 0x10000)
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    else
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((static_cast<uint32_t>(c) - 0x10000) >> 10),
                         0xDC00 + (static_cast<uint32_t>(c) & 0x3FF));
  }
  out += '"';
}

void JsonWriter::number(double value) {
  if (std::isfinite(value))
    out += float_repr(value);
  else
    out += std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

void JsonWriter::key(const Value& key) {
  if (const String* text = key.string()) return string(text->text);
  out += '"';
  write(key, 0);
  out += '"';
}

void JsonWriter::sequence(const Sequence& sequence, int level) {
  if (sequence.items.empty()) {
    out += "[]";
    return;
  }
  out += '[';
  for (size_t i = 0; i < sequence.items.size(); ++i) {
    separator(i);
    line(level + 1);
    write(sequence.items[i], level + 1);
  }
  line(level);
  out += ']';
}

void JsonWriter::dict(const Dict& dict, int level) {
  if (dict.items.empty()) {
    out += "{}";
    return;
  }
  std::vector<const std::pair<Value, Value>*> items;
  for (const auto& item : dict.items) items.push_back(&item);
  if (style_.sort_keys) {
    std::stable_sort(items.begin(), items.end(),
                     [&](const auto* a, const auto* b) { return less(a->first, b->first, budget_); });
  }
  out += '{';
  for (size_t i = 0; i < items.size(); ++i) {
    separator(i);
    line(level + 1);
    key(items[i]->first);
    out += style_.key_separator;
    write(items[i]->second, level + 1);
  }
  line(level);
  out += '}';
}

void JsonWriter::write(const Value& value, int level) {
  budget_.spend(1);
  if (value.is_none())
    out += "null";
  else if (const bool* truth = value.boolean())
    out += *truth ? "true" : "false";
  else if (const int64_t* integer = value.integer())
    out += std::to_string(*integer);
  else if (const double* real = value.real())
    number(*real);
  else if (const String* text = value.string())
    string(text->text);
  else if (const Sequence* items = value.sequence())
    sequence(*items, level);
  else if (const Dict* object = value.dict())
    dict(*object, level);
  else
    refuse("Object of type {} is not JSON serializable", value.type());
}

}  // namespace

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64] = {};
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view scientific(buffer, static_cast<size_t>(end - buffer));
  const size_t e = scientific.find('e');
  const int exponent = std::atoi(scientific.data() + e + 1);
  if (exponent < -4 || exponent >= 16) return std::string(scientific);
  const auto fixed_end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  std::string fixed(buffer, fixed_end);
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

std::string repr(const Value& value, Budget& budget) {
  return print_whole(value, budget, 0);
}

std::string to_text(const Value& value, Budget& budget) {
  if (const String* string = value.string()) return string->text;
  return value.undefined() ? std::string() : repr(value, budget);
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '\'')
      out += "&#39;";
    else if (c == '"')
      out += "&#34;";
    else
      out += c;
  }
  return out;
}

std::string to_json(const Value& value, const JsonStyle& style, Budget& budget) {
  JsonWriter writer(style, budget);
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace nereus::text::jinja
