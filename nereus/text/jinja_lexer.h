#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nereus::text::jinja {

struct Token {
  enum class Kind {
    kData,           ///< text between the tags, whitespace rules applied
    kVariableBegin,  ///< {{
    kVariableEnd,    ///< }}
    kBlockBegin,     ///< {%
    kBlockEnd,       ///< %}
    kName,
    kString,  ///< `text` is the value, escapes resolved
    kInteger,
    kFloat,
    kSymbol,
    kEnd,
  };
  Kind kind;
  std::string text;
  int line;

  bool symbol(std::string_view what) const { return kind == Kind::kSymbol && text == what; }
  bool name(std::string_view what) const { return kind == Kind::kName && text == what; }
  std::string describe() const;  ///< for messages
};

/// Cuts a template into tokens under the whitespace rules of chat templates: `trim_blocks` (a tag takes the
/// line end after it) and `lstrip_blocks` (and the blanks before it on its line); `-` takes all whitespace on
/// its side,
/// `+` leaves it; comments vanish; one line end at the very end is dropped. Throws Failure with a line.
std::vector<Token> tokenize(std::string_view source);

}  // namespace nereus::text::jinja
