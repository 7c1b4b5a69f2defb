#include "nereus/text/jinja_unicode.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "nereus/text/utf8.h"

namespace nereus::text::jinja {
namespace {

/// Stands for a byte that is no UTF-8, so that it goes out as it came; surrogates are no characters
/// otherwise.
constexpr char32_t kRawByte = 0xDC00;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

UChar32 point(char32_t c) {
  return static_cast<UChar32>(c);
}

std::string to_utf8(const icu::UnicodeString& text) {
  std::string out;
  text.toUTF8String(out);
  return out;
}

icu::UnicodeString from_utf8(std::string_view text) {
  return icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

std::string title_char(char32_t c) {
  std::string text;
  // Characters whose title form is several letters, such as the German sharp s: the capital form, with all
  // but the first letter small again.
  const char32_t single = static_cast<char32_t>(u_totitle(point(c)));
  append(text, c);
  if (single != c || is_upper(c)) {
    text.clear();
    append(text, single);
    return text;
  }
  const std::u32string capital = decode(upper(text));
  if (capital.size() < 2) return encode(capital);
  return encode(capital.substr(0, 1)) + lower(encode(capital.substr(1)));
}

}  // namespace

char32_t next_char(std::string_view text, size_t& position) {
  const Utf8Char c = first_char(text.substr(position));
  if (c.kind == Utf8Char::Kind::complete) {
    position += c.length;
    return c.code;
  }
  return kRawByte + static_cast<unsigned char>(text[position++]);
}

void append(std::string& text, char32_t c) {
  if (c >= kRawByte && c <= kRawByte + 0xFF) {
    text.push_back(static_cast<char>(c - kRawByte));
  } else {
    append_utf8(c, text);
  }
}

std::u32string decode(std::string_view text) {
  std::u32string chars;
  chars.reserve(text.size());
  for (size_t at = 0; at < text.size();) chars.push_back(next_char(text, at));
  return chars;
}

std::string encode(std::u32string_view chars) {
  std::string text;
  text.reserve(chars.size());
  for (const char32_t c : chars) append(text, c);
  return text;
}

size_t count_chars(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) next_char(text, at);
  return count;
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  return (U_GET_GC_MASK(point(c)) & (U_GC_C_MASK | U_GC_Z_MASK)) == 0;
}

bool is_upper(char32_t c) {
  return u_hasBinaryProperty(point(c), UCHAR_UPPERCASE);
}
bool is_lower(char32_t c) {
  return u_hasBinaryProperty(point(c), UCHAR_LOWERCASE);
}
bool is_cased(char32_t c) {
  return is_upper(c) || is_lower(c) || u_charType(point(c)) == U_TITLECASE_LETTER;
}
bool is_alpha(char32_t c) {
  return (U_GET_GC_MASK(point(c)) & U_GC_L_MASK) != 0;
}
bool is_decimal(char32_t c) {
  return u_charType(point(c)) == U_DECIMAL_DIGIT_NUMBER;
}

bool is_digit(char32_t c) {
  const int32_t type = u_getIntPropertyValue(point(c), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}

bool is_numeric(char32_t c) {
  return u_getIntPropertyValue(point(c), UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}

std::string upper(std::string_view text) {
  return to_utf8(from_utf8(text).toUpper(icu::Locale::getRoot()));
}
std::string lower(std::string_view text) {
  return to_utf8(from_utf8(text).toLower(icu::Locale::getRoot()));
}

std::string fold_case(std::string_view text) {
  return to_utf8(from_utf8(text).foldCase());
}

std::string capitalize(std::string_view text) {
  if (text.empty()) return {};
  size_t at = 0;
  const char32_t first = next_char(text, at);
  return title_char(first) + lower(text.substr(at));
}

std::string title(std::string_view text) {
  std::string out;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t c = next_char(text, at);
    out += inside ? lower(text.substr(start, at - start)) : title_char(c);
    inside = is_cased(c);
  }
  return out;
}

std::string swap_case(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t c = next_char(text, at);
    const std::string_view piece = text.substr(start, at - start);
    out += is_upper(c) ? lower(piece) : is_lower(c) ? upper(piece) : std::string(piece);
  }
  return out;
}

std::string_view strip(std::string_view text, const std::u32string* chars, bool left, bool right) {
  const auto drop = [&](char32_t c) { return chars ? chars->find(c) != std::u32string::npos : is_space(c); };
  for (size_t at = 0; left && at < text.size();) {
    if (!drop(next_char(text, at))) break;
    text.remove_prefix(at);
    at = 0;
  }
  while (right && !text.empty()) {
    size_t start = text.size() - 1;
    while (start > 0 && text.size() - start < 4 && is_continuation(text[start])) --start;
    size_t at = start;
    char32_t c = next_char(text, at);
    if (at != text.size()) start = text.size() - 1, at = start, c = next_char(text, at);
    if (!drop(c)) break;
    text.remove_suffix(text.size() - start);
  }
  return text;
}

}  // namespace nereus::text::jinja
