#include "nereus/tasks/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <utility>

namespace nereus::tasks {
namespace {

constexpr uint32_t kMatchLimit = 1'000'000;  // steps of backtracking: well below a second

std::string error_text(int error) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(error, buffer.data(), buffer.size());
  return std::string(buffer.begin(), std::find(buffer.begin(), buffer.end(), PCRE2_UCHAR{0}));
}

bool word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool word(char c) {
  return word_start(c) || (c >= '0' && c <= '9');
}

/// Length of "{name}" at the start of `text`, 0 where there is none.
size_t placeholder_length(std::string_view text) {
  if (text.size() < 3 || text[0] != '{' || !word_start(text[1])) return 0;
  size_t end = 2;
  while (end < text.size() && word(text[end])) ++end;
  return end < text.size() && text[end] == '}' ? end + 1 : 0;
}

/// Length of the escape at the start of `text`, with the braces that belong to it.
size_t escape_length(std::string_view text) {
  constexpr std::string_view kTakesBraces = "xopPkgN";
  if (text.size() < 2) return text.size();
  const bool braces =
      text.size() > 2 && text[2] == '{' && kTakesBraces.find(text[1]) != std::string_view::npos;
  const size_t end = braces ? text.find('}') : 1;
  return end == std::string_view::npos ? text.size() : end + 1;
}

}  // namespace

struct Pattern::Code {
  pcre2_code* code = nullptr;
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;

  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() {
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
  }
};

Pattern::Pattern(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(const std::string& pattern) {
  int error = 0;
  PCRE2_SIZE place = 0;
  auto code = std::make_unique<Code>();
  const std::basic_string<PCRE2_UCHAR> units(pattern.begin(), pattern.end());
  code->code = pcre2_compile(units.data(), units.size(), PCRE2_UTF | PCRE2_UCP, &error, &place, nullptr);
  if (!code->code) return fail("pattern \"{}\", character {}: {}", pattern, place + 1, error_text(error));
  code->data = pcre2_match_data_create_from_pattern(code->code, nullptr);
  code->context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(code->context, kMatchLimit);
  return Pattern(std::move(code));
}

Result<bool> Pattern::found_in(std::string_view text) const {
  const std::basic_string<PCRE2_UCHAR> units(text.begin(), text.end());
  const int result = pcre2_match(code_->code, units.data(), units.size(), 0, 0, code_->data, code_->context);
  if (result >= 0) return true;
  if (result == PCRE2_ERROR_NOMATCH) return false;
  return fail("the search gave up: {}", error_text(result));
}

PatternTemplate split_placeholders(std::string_view pattern) {
  PatternTemplate parts{.texts = {""}, .columns = {}};
  while (!pattern.empty()) {
    const size_t name = placeholder_length(pattern);
    if (name > 0) {
      parts.columns.emplace_back(pattern.substr(1, name - 2));
      parts.texts.emplace_back();
      pattern.remove_prefix(name);
      continue;
    }
    const size_t length = pattern.front() == '\\' ? escape_length(pattern) : 1;
    parts.texts.back() += pattern.substr(0, length);
    pattern.remove_prefix(length);
  }
  return parts;
}

std::string quote_for_pattern(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\0')
      quoted += "\\x00";
    else if (word(c) || static_cast<unsigned char>(c) >= 0x80U)
      quoted += c;
    else
      (quoted += '\\') += c;
  }
  return quoted;
}

}  // namespace nereus::tasks
