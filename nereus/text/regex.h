#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;

namespace nereus::text {

/// Bytes [begin, end) of a text.
struct Span {
  size_t begin, end;
  bool operator==(const Span&) const = default;
};

/// A regular expression over UTF-8 in the dialect of tokenizer.json files (Oniguruma's Ruby syntax: Unicode
/// classes, `^` and `$` at every line), run by PCRE2's compiler. Immutable and thread-safe; copies share it.
class Regex {
 public:
  /// `where` names file and key in errors.
  static Result<Regex> compile(std::string_view pattern, std::string_view where);

 private:
  friend class RegexMatcher;
  std::shared_ptr<pcre2_real_code_8> code_;
};

/// The same pattern in PCRE2's dialect: `\s`, `\w` and `\h` are other sets there. An error where no such
/// pattern is (an intersection of classes, `\W` inside of one).
Result<std::string> to_pcre2(std::string_view pattern, std::string_view where);

/// Runs a Regex. One thread's.
class RegexMatcher {
 public:
  explicit RegexMatcher(const Regex& regex);
  /// Appends every match in `text` that is not empty, in order, as a span of it. REQUIRES: `text` is valid
  /// UTF-8.
  void find_all(std::string_view text, std::vector<Span>& out);

 private:
  bool find(std::string_view text, size_t from, Span& match);
  Regex regex_;
  std::shared_ptr<pcre2_real_match_data_8> match_;
};

}  // namespace nereus::text
