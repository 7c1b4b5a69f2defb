#include "nereus/metrics/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace nereus::metrics {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool utf8_locale() {
  std::string locale = environment("LC_ALL");
  if (locale.empty()) locale = environment("LC_CTYPE");
  if (locale.empty()) locale = environment("LANG");
  std::ranges::transform(locale, locale.begin(), [](unsigned char c) { return std::tolower(c); });
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

/// Length of the colour code ("\x1b[...m") at the start of `text`, 0 where there is none.
size_t code_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

}  // namespace

TerminalOptions TerminalOptions::detect(int file) {
  TerminalOptions options;
  options.live = ::isatty(file) == 1 && environment("TERM") != "dumb";
  options.color = options.live && environment("NO_COLOR").empty();
  options.unicode = utf8_locale();
  options.file = options.live ? file : -1;
  return options;
}

void Terminal::draw(const std::vector<std::string>& lines) {
  if (!options_.live) return;
  erase();
  // One column is left free: a full line would wrap on some terminals.
  const auto room = static_cast<size_t>(std::max(width() - 1, 1));
  for (const std::string& line : lines) out_ << cut(line, room) << '\n';
  drawn_ = lines.size();
  out_.flush();
}

void Terminal::print(std::string_view text) {
  erase();
  out_ << text << '\n';
  out_.flush();
}

void Terminal::keep() {
  drawn_ = 0;
}

void Terminal::erase() {
  if (drawn_ > 0) out_ << fmt::format("\x1b[{}A\r\x1b[J", drawn_);
  drawn_ = 0;
}

int Terminal::width() const {
  winsize size{};
  if (options_.file >= 0 && ::ioctl(options_.file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return options_.width;
}

std::string Terminal::paint(std::string_view code, std::string_view text) const {
  return options_.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

size_t columns(std::string_view text) {
  size_t count = 0;
  while (!text.empty()) {
    const size_t code = code_length(text);
    if (code == 0 && starts_character(text.front())) ++count;
    text.remove_prefix(std::max<size_t>(code, 1));
  }
  return count;
}

std::string cut(std::string_view text, size_t width) {
  std::string kept;
  size_t count = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t code = code_length(text.substr(i));
    if (code == 0 && starts_character(text[i])) ++count;
    if (code > 0 || count <= width) kept.append(text.substr(i, std::max<size_t>(code, 1)));
    i += std::max<size_t>(code, 1);
  }
  return kept;
}

}  // namespace nereus::metrics
