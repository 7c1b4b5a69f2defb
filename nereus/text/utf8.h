#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nereus::text {

/// The first character of some bytes, or why there is none.
struct Utf8Char {
  enum class Kind : uint8_t {
    complete,
    invalid,    ///< `length` bytes that can begin no character (Unicode's "maximal subpart")
    truncated,  ///< the bytes end within what may become a character
  };
  Kind kind;
  uint8_t length;   ///< bytes, 1 to 4
  char32_t code{};  ///< where complete
};

/// REQUIRES: `bytes` is not empty. Surrogates, overlong forms and codes past U+10FFFF are invalid.
Utf8Char first_char(std::string_view bytes);

bool valid_utf8(std::string_view bytes);

/// Moves all of `bytes` but a truncated character at its end (at most 3 bytes, left in `bytes`) to `out`;
/// each invalid part becomes one U+FFFD.
void move_valid_utf8(std::string& bytes, std::string& out);

/// `bytes` with U+FFFD for each invalid part and for a truncated character at the end.
std::string to_valid_utf8(std::string_view bytes);

void append_utf8(char32_t code, std::string& out);

}  // namespace nereus::text
