#include "nereus/text/jinja_lexer.h"

#include <algorithm>
#include <array>

#include "nereus/text/jinja_failure.h"
#include "nereus/text/jinja_unicode.h"

namespace nereus::text::jinja {
namespace {

using Kind = Token::Kind;

bool is_digit_char(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_char(char c) {
  return is_digit_char(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

std::string unify_newlines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    text.push_back(source[i] == '\r' ? '\n' : source[i]);
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(unify_newlines(source)), text_(source_) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) root();
    add(Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  void root();
  void comment();
  bool raw();
  void inside(Kind end, std::string_view closing);
  bool close(Kind end, std::string_view closing);
  void expression_token();
  void string();
  void number();
  void symbol();
  void escape(std::string& out, size_t& i, size_t end);

  [[noreturn]] void fail_at(std::string message) const { throw Failure{std::move(message), line_}; }
  bool ahead(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  void add(Kind kind, std::string_view text) { tokens_.push_back({kind, std::string(text), line_}); }
  /// Moves on by `count` bytes and counts the lines.
  void advance(size_t count) {
    const std::string_view passed = text_.substr(at_, count);
    line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
    if (!passed.empty()) line_start_ = passed.back() == '\n';
    at_ += passed.size();
  }
  void skip_spaces() {
    size_t end = at_;
    for (size_t next = at_; next < text_.size() && is_space(next_char(text_, next));) end = next;
    advance(end - at_);
  }
  void data(std::string_view text, char sign, bool lstrip);

  std::string source_;
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_start_ = true;  ///< whether what was passed last ended a line
  std::string brackets_;    ///< those still to be closed in this tag
  std::vector<Token> tokens_;
};

/// Emits the text before a tag and passes it; `sign` stands in the tag's opening.
void Lexer::data(std::string_view text, char sign, bool lstrip) {
  std::string_view kept = text;
  if (sign == '-') {
    kept = strip(text, nullptr, false, true);
  } else if (sign != '+' && lstrip) {
    const size_t newline = text.rfind('\n');
    const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    const bool blank = strip(text.substr(start), nullptr, true, false).empty();
    if ((start > 0 || line_start_) && blank) kept = text.substr(0, start);
  }
  if (!kept.empty()) add(Kind::kData, kept);
  advance(text.size());
}

void Lexer::root() {
  size_t open = at_;
  while ((open = text_.find('{', open)) != std::string_view::npos) {
    const char next = open + 1 < text_.size() ? text_[open + 1] : ' ';
    if (next == '{' || next == '%' || next == '#') break;
    ++open;
  }
  if (open == std::string_view::npos) {
    add(Kind::kData, text_.substr(at_));
    return advance(text_.size() - at_);
  }
  const char type = text_[open + 1];
  const char sign = open + 2 < text_.size() ? text_[open + 2] : ' ';
  data(text_.substr(at_, open - at_), sign, type != '{');
  if (type == '#') return comment();
  if (type == '%' && raw()) return;
  add(type == '{' ? Kind::kVariableBegin : Kind::kBlockBegin, "");
  advance(sign == '-' || sign == '+' ? 3 : 2);
  type == '{' ? inside(Kind::kVariableEnd, "}}") : inside(Kind::kBlockEnd, "%}");
}

void Lexer::comment() {
  const size_t end = text_.find("#}", at_ + 2);
  if (end == std::string_view::npos) fail_at("a comment isn't closed with '#}'");
  const char sign = end > at_ + 2 ? text_[end - 1] : ' ';
  advance(end + 2 - at_);
  if (sign == '-') skip_spaces();
  if (sign != '-' && sign != '+' && ahead("\n")) advance(1);
}

/// A whole {% raw %} block, if one starts here.
bool Lexer::raw() {
  const auto tag = [&](size_t start, std::string_view name) -> size_t {  // behind the name, or 0
    size_t i = start + 2;
    if (i < text_.size() && (text_[i] == '-' || text_[i] == '+')) ++i;
    i = text_.size() - strip(text_.substr(std::min(i, text_.size())), nullptr, true, false).size();
    if (text_.substr(i, name.size()) != name) return 0;
    i += name.size();
    return text_.size() - strip(text_.substr(i), nullptr, true, false).size();
  };
  const size_t open = tag(at_, "raw");
  const bool trimmed = open != 0 && text_.substr(open, 3) == "-%}";
  if (open == 0 || (!trimmed && text_.substr(open, 2) != "%}")) return false;
  advance(open + (trimmed ? 3 : 2) - at_);
  if (trimmed) skip_spaces();
  for (size_t close = text_.find("{%", at_); close != std::string_view::npos;
       close = text_.find("{%", close + 2)) {
    size_t end = tag(close, "endraw");
    if (end == 0) continue;
    const char sign = end < text_.size() ? text_[end] : ' ';
    if (sign == '-' || sign == '+') ++end;
    if (text_.substr(end, 2) != "%}") continue;
    data(text_.substr(at_, close - at_), text_[close + 2], true);
    advance(end + 2 - at_);
    if (sign == '-') skip_spaces();
    if (sign != '-' && sign != '+' && ahead("\n")) advance(1);
    return true;
  }
  fail_at("a raw block isn't closed with '{% endraw %}'");
}

void Lexer::inside(Kind end, std::string_view closing) {
  brackets_.clear();
  while (true) {
    skip_spaces();
    if (at_ >= text_.size()) return;  // the parser knows what is missing
    if (brackets_.empty() && close(end, closing)) return;
    expression_token();
  }
}

bool Lexer::close(Kind end, std::string_view closing) {
  const bool block = end == Kind::kBlockEnd;
  const char sign = text_[at_];
  const bool signed_end = (sign == '-' || (sign == '+' && block)) && text_.substr(at_ + 1, 2) == closing;
  if (!signed_end && !ahead(closing)) return false;
  add(end, "");
  advance(signed_end ? 3 : 2);
  if (signed_end && sign == '-') skip_spaces();
  if (!signed_end && block && ahead("\n")) advance(1);
  return true;
}

void Lexer::expression_token() {
  const char c = text_[at_];
  if (c == '\'' || c == '"') return string();
  if (is_digit_char(c)) return number();
  if (!is_name_char(c)) return symbol();
  size_t end = at_;
  while (end < text_.size() && is_name_char(text_[end])) ++end;
  add(Kind::kName, text_.substr(at_, end - at_));
  advance(end - at_);
}

void Lexer::symbol() {
  static constexpr std::array<std::string_view, 6> kPairs{"//", "**", "==", "!=", ">=", "<="};
  static constexpr std::string_view kSingles = "+-/*%~[](){}<>=.:|,";
  for (const std::string_view pair : kPairs) {
    if (ahead(pair)) return add(Kind::kSymbol, pair), advance(2);
  }
  const char c = text_[at_];
  if (kSingles.find(c) == std::string_view::npos) fail_at(fmt::format("unexpected character '{}'", c));
  if (c == '(' || c == '[' || c == '{') brackets_.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
  if (c == ')' || c == ']' || c == '}') {
    if (brackets_.empty()) fail_at(fmt::format("unexpected '{}'", c));
    if (brackets_.back() != c) fail_at(fmt::format("unexpected '{}', expected '{}'", c, brackets_.back()));
    brackets_.pop_back();
  }
  add(Kind::kSymbol, text_.substr(at_, 1));
  advance(1);
}

void Lexer::number() {
  const auto digits = [&](size_t i) {  // behind a run of digits, single underscores between them
    size_t end = i;
    while (end < text_.size() &&
           (is_digit_char(text_[end]) ||
            (end > i && text_[end] == '_' && end + 1 < text_.size() && is_digit_char(text_[end + 1]))))
      ++end;
    return end;
  };
  const auto digit_at = [&](size_t i) { return i < text_.size() && is_digit_char(text_[i]); };
  const char letter = at_ + 1 < text_.size() ? static_cast<char>(text_[at_ + 1] | 0x20) : ' ';
  size_t end = digits(at_);
  Kind kind = Kind::kInteger;
  if (text_[at_] == '0' && (letter == 'x' || letter == 'o' || letter == 'b')) {
    end = at_ + 2;
    while (end < text_.size() && is_name_char(text_[end])) ++end;
  } else if (at_ == 0 || text_[at_ - 1] != '.') {
    if (end < text_.size() && text_[end] == '.' && digit_at(end + 1)) {
      kind = Kind::kFloat;
      end = digits(end + 1);
    }
    if (end < text_.size() && (text_[end] | 0x20) == 'e') {
      const bool sign = end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+');
      const size_t exponent = end + (sign ? 2 : 1);
      if (digit_at(exponent)) kind = Kind::kFloat, end = digits(exponent);
    }
  }
  std::string text(text_.substr(at_, end - at_));
  std::erase(text, '_');
  add(kind, text);
  advance(end - at_);
}

void Lexer::string() {
  const char quote = text_[at_];
  size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size()) fail_at("a string isn't closed");
  std::string value;
  for (size_t i = at_ + 1; i < end;) {
    if (text_[i] != '\\') {
      value.push_back(text_[i++]);
    } else {
      escape(value, i, end);
    }
  }
  add(Kind::kString, value);
  advance(end + 1 - at_);
}

/// One escape sequence as in a Python string; `i` stands on the backslash and moves behind the sequence.
void Lexer::escape(std::string& out, size_t& i, size_t end) {
  static constexpr std::string_view kLetters = "abfnrtv\\'\"", kValues = "\a\b\f\n\r\t\v\\'\"";
  const char c = text_[i + 1];
  if (const size_t known = kLetters.find(c); known != std::string_view::npos) {
    out.push_back(kValues[known]);
    i += 2;
    return;
  }
  const bool octal = c >= '0' && c <= '7';
  const size_t wanted = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : octal ? 3 : 0;
  if (c == '\n' || wanted == 0) {
    if (c != '\n') out.append(text_.substr(i, 2));
    i += 2;
    return;
  }
  const uint32_t base = octal ? 8 : 16;
  size_t at = i + (octal ? 1 : 2), count = 0;
  uint32_t code = 0;
  for (; count < wanted && at < end; ++count, ++at) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    const char lower = is_digit_char(text_[at]) ? text_[at] : static_cast<char>(text_[at] | 0x20);
    const size_t digit = kDigits.find(lower);
    if (digit >= base) break;
    code = code * base + static_cast<uint32_t>(digit);
  }
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if ((!octal && count < wanted) || code > 0x10FFFF || surrogate)
    fail_at("a string has a broken escape sequence");
  append(out, code);
  i = at;
}

}  // namespace

std::string Token::describe() const {
  switch (kind) {
    case Kind::kData:
      return "text";
    case Kind::kVariableBegin:
      return "'{{'";
    case Kind::kVariableEnd:
      return "'}}'";
    case Kind::kBlockBegin:
      return "'{%'";
    case Kind::kBlockEnd:
      return "'%}'";
    case Kind::kString:
      return fmt::format("the string '{}'", text);
    case Kind::kEnd:
      return "the end of the template";
    default:
      return fmt::format("'{}'", text);
  }
}

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace nereus::text::jinja
