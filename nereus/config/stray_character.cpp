#include "nereus/config/stray_character.h"

#include <algorithm>

namespace nereus::config {

namespace {

bool stray(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code > 0x7e || (code < 0x20 && c != '\t' && c != '\n' && c != '\r');
}

/// Bytes of the string that `text` begins with, quotes included; of what there is where it does not end.
size_t length_of_string(std::string_view text) {
  const char quote = text[0];
  const bool lines = text.starts_with(quote == '"' ? "\"\"\"" : "'''");
  const std::string_view end = text.substr(0, lines ? 3 : 1);
  for (size_t i = end.size(); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"')
      ++i;
    else if (text.substr(i).starts_with(end))
      return i + end.size();
    else if (text[i] == '\n' && !lines)
      return i;  // unfinished: the parser says so
  }
  return text.size();
}

}  // namespace

size_t line_of_stray_character(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i += length_of_string(text.substr(i));
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (stray(c)) {
      return 1 + static_cast<size_t>(
                     std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n'));
    } else {
      ++i;
    }
  }
  return 0;
}

}  // namespace nereus::config
