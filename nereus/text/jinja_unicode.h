#pragma once

#include <string>
#include <string_view>

namespace nereus::text::jinja {

// Strings as Python sees them: sequences of code points, kept as UTF-8. A byte that is no UTF-8 counts as one
// character.

std::u32string decode(std::string_view text);
std::string encode(std::u32string_view chars);
void append(std::string& text, char32_t c);

/// The code point that starts at `text[position]`; moves `position` behind it. REQUIRES: position <
/// text.size()
char32_t next_char(std::string_view text, size_t& position);
size_t count_chars(std::string_view text);

bool is_space(char32_t c);  ///< Python's str.isspace
bool is_printable(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_cased(char32_t c);
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);  ///< a digit in any script
bool is_digit(char32_t c);    ///< also superscripts and the like
bool is_numeric(char32_t c);  ///< also fractions and number letters

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string fold_case(std::string_view text);  ///< for comparisons without case: ss for the German sharp s
std::string capitalize(std::string_view text);
std::string title(std::string_view text);  ///< str.title: a capital after everything that is no letter
std::string swap_case(std::string_view text);

/// Without the leading or trailing characters that are spaces, or in `chars` where that isn't null.
std::string_view strip(std::string_view text, const std::u32string* chars, bool left, bool right);

}  // namespace nereus::text::jinja
