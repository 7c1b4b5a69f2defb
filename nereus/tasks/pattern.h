#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::tasks {

/// A compiled PCRE2 pattern over UTF-8 text. Not thread-safe.
class Pattern {
 public:
  /// Error: the pattern does not compile, with the place.
  static Result<Pattern> compile(const std::string& pattern);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  /// Whether it is found anywhere in `text`. Error: the search took too many steps.
  Result<bool> found_in(std::string_view text) const;

 private:
  struct Code;
  explicit Pattern(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

/// A pattern cut at its {column} placeholders: texts.size() == columns.size() + 1. Braces of quantifiers
/// ("{2,3}"), escapes ("\x{41}", "\p{L}") and escaped braces ("\{") are no placeholders.
struct PatternTemplate {
  std::vector<std::string> texts;
  std::vector<std::string> columns;
};
PatternTemplate split_placeholders(std::string_view pattern);

/// `text` as a pattern that matches it literally.
std::string quote_for_pattern(std::string_view text);

}  // namespace nereus::tasks
