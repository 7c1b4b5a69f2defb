#include "nereus/config/stray_character.h"

#include <algorithm>
#include <string>

namespace nereus::config {

namespace {

bool stray(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code > 0x7e || (code < 0x20 && c != '\t' && c != '\n' && c != '\r');
}

/// Bytes of the string that `text` begins with, quotes included; of what there is where it does not end, or
/// up to a stray character behind a backslash, where spaces and line ends are skipped.
size_t length_of_string(std::string_view text) {
  const char quote = text[0];
  const bool lines = text.starts_with(quote == '"' ? "\"\"\"" : "'''");
  const std::string_view end = text.substr(0, lines ? 3 : 1);
  for (size_t i = end.size(); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
      const size_t next = std::min(text.find_first_not_of(" \t\r\n", i), text.size());
      if (next < text.size() && stray(text[next])) return next;
    } else if (text.substr(i).starts_with(end)) {
      // Two more quotes may be the string's own last characters.
      return lines ? std::min({text.find_first_not_of(quote, i), i + 5, text.size()}) : i + 1;
    } else if (text[i] == '\n' && !lines) {
      return i;  // unfinished: the parser says so
    }
  }
  return text.size();
}

/// Follows the bytes outside strings and comments to say where a quote begins no string: in the midst of a
/// value that is none, such as `0_"`, all of which the parser reads before it says so.
class Walk {
 public:
  bool string_may_begin() const { return !word_; }

  void pass(char c) {
    if (c == '\n' || c == ',' || c == ']' || c == '}' || c == '#') word_ = false;
    if (word_) return;
    if (c == '\n') {
      value_ = value_ && !open_.empty();
    } else if (c == '=') {
      value_ = true;
    } else if (c == ',') {
      value_ = open_.ends_with('[');
    } else if (c == ']' || c == '}') {
      if (!open_.empty()) open_.pop_back();
    } else if (value_ && (c == '[' || c == '{')) {
      open_ += c;
      value_ = c == '[';
    } else if (value_ && c != ' ' && c != '\t' && c != '\r' && c != '#') {
      word_ = true;
    }
  }

 private:
  std::string open_;    // brackets that began values
  bool value_ = false;  // behind "=", or in a list
  bool word_ = false;   // in a value that is no string
};

}  // namespace

size_t line_of_stray_character(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Walk walk;
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if ((c == '"' || c == '\'') && walk.string_may_begin()) {
      i += length_of_string(text.substr(i));
      continue;
    }
    if (stray(c))
      return 1 + static_cast<size_t>(
                     std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n'));
    walk.pass(c);
    i = c == '#' ? std::min(text.find('\n', i), text.size()) : i + 1;
  }
  return 0;
}

}  // namespace nereus::config
