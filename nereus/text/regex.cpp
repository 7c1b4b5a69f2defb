#define PCRE2_CODE_UNIT_WIDTH 8
#include "nereus/text/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "nereus/text/utf8.h"

namespace nereus::text {

namespace {

/// Escapes that are another set in PCRE2, as the inside of a bracketed class (Oniguruma, doc/RE).
std::optional<std::string_view> members(char escape) {
  switch (escape) {
    case 's':
    case 'S':
      return R"(\t-\r\x{85}\p{Z})";
    case 'w':
    case 'W':
      return R"(\p{L}\p{M}\p{N}\p{Pc})";
    case 'h':
    case 'H':
      return "0-9A-Fa-f";
    default:
      return std::nullopt;
  }
}

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return {text.begin(), std::find(text.begin(), text.end(), PCRE2_UCHAR{0})};
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

struct Free {
  void operator()(pcre2_compile_context* p) const { pcre2_compile_context_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};

}  // namespace

Result<std::string> to_pcre2(std::string_view pattern, std::string_view where) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (c == '\\') {
      ++i;
      const auto set = members(next);
      if (set && in_class && is_upper(next)) {
        return fail("{}: \\{} inside a character class is not supported", where, next);
      }
      if (!set) {
        out += pattern.substr(i - 1, 2);
      } else if (in_class) {
        out += *set;
      } else {
        out += fmt::format("[{}{}]", is_upper(next) ? "^" : "", *set);
      }
    } else if (in_class && ((c == '[') || (c == '&' && next == '&'))) {
      return fail("{}: classes within classes are not supported", where);
    } else {
      if (c == '[') in_class = true;
      if (c == ']') in_class = false;
      out += c;
    }
  }
  return out;
}

Result<Regex> Regex::compile(std::string_view pattern, std::string_view where) {
  if (!valid_utf8(pattern)) return fail("{}: the pattern is not valid UTF-8", where);
  const auto translated = to_pcre2(pattern, where);
  if (!translated) return pass(translated);
  const std::unique_ptr<pcre2_compile_context, Free> context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 100);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(units(*translated), translated->size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                                   &offset, context.get());
  if (!code)
    return fail("{}: bad pattern at byte {} of \"{}\": {}", where, offset, *translated, pcre2_message(error));
  // Where the machine allows no compiled code, matching falls back to the interpreter by itself.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  Regex out;
  out.code_ = {code, [](pcre2_code* p) { pcre2_code_free(p); }};
  return out;
}

RegexMatcher::RegexMatcher(const Regex& regex)
    : regex_(regex),
      match_(pcre2_match_data_create_from_pattern(regex.code_.get(), nullptr),
             [](pcre2_match_data* p) { pcre2_match_data_free(p); }) {}

void RegexMatcher::find_all(std::string_view text, std::vector<Span>& out) {
  size_t from = 0;
  Span match{};
  while (from < text.size() && find(text, from, match)) {
    if (match.end > match.begin) out.push_back(match);
    from = match.end > match.begin ? match.end : match.end + first_char(text.substr(match.end)).length;
  }
}

bool RegexMatcher::find(std::string_view text, size_t from, Span& match) {
  const auto run = [&](uint32_t options, pcre2_match_context* context) {
    return pcre2_match(regex_.code_.get(), units(text), text.size(), from, PCRE2_NO_UTF_CHECK | options,
                       match_.get(), context);
  };
  int found = run(0, nullptr);
  if (found < PCRE2_ERROR_PARTIAL) {
    // A limit of compiled code (its stack is 32 KiB): the interpreter, unlimited, gets to the end.
    const std::unique_ptr<pcre2_match_context, Free> context(pcre2_match_context_create(nullptr));
    constexpr uint32_t kUnlimited = std::numeric_limits<uint32_t>::max();
    pcre2_set_match_limit(context.get(), kUnlimited);
    pcre2_set_depth_limit(context.get(), kUnlimited);
    pcre2_set_heap_limit(context.get(), kUnlimited);
    found = run(PCRE2_NO_JIT, context.get());
  }
  if (found < 0) return false;
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match_.get());
  match = {ends[0], ends[1]};
  return true;
}

}  // namespace nereus::text
