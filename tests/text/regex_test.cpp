#include "nereus/text/regex.h"

#include <gmock/gmock.h>

namespace nereus::text {
namespace {

std::vector<std::string> found(std::string_view pattern, std::string_view text) {
  const Regex regex = value_or_throw(Regex::compile(pattern, "test"));
  std::vector<Span> spans;
  RegexMatcher(regex).find_all(text, spans);
  std::vector<std::string> out;
  for (const Span& span : spans) out.emplace_back(text.substr(span.begin, span.end - span.begin));
  return out;
}

using Strings = std::vector<std::string>;

TEST(Regex, FindsAsOnigurumaDoes) {
  struct Case {
    std::string pattern, text;
    Strings expected;
  };
  const Case cases[] = {
      {R"(\p{L}+)", "a1bé日 x", {"a", "bé日", "x"}},
      {R"(\p{N})", "1²½٣x", {"1", "²", "½", "٣"}},
      {R"(\s+)", "a \t\u00a0\u0085\u3000b", {" \t\u00a0\u0085\u3000"}},
      {R"(\s)", "\u180e\u200b", {}},  // neither is white space any more, though PCRE2's \s has the first
      {R"([^\s]+)", "a\u180e b", {"a\u180e", "b"}},
      {R"(\S+)", "a\u180e b", {"a\u180e", "b"}},
      {R"(\w+)", "a\u0301_1-b", {"a\u0301_1", "b"}},
      {R"(\h+)", "xAf0g \t", {"Af0"}},
      {R"((?i:'s|'re))", "'S'rE'ſ", {"'S", "'rE", "'ſ"}},
      {R"(\s+$)", "a \nb  ", {" ", "  "}},  // `$` also before a line end
      {R"(\s+(?!\S))", "a   b  ", {"  ", "  "}},
      {"x*", "axxb", {"xx"}},  // empty matches are no matches
      {R"(\\s)", R"(\s)", {R"(\s)"}},
  };
  for (const Case& c : cases) EXPECT_EQ(found(c.pattern, c.text), c.expected) << c.pattern;
}

TEST(Regex, LongTextsNeedNoStackAndNoLimit) {
  const std::string text(1 << 20, ' ');
  EXPECT_EQ(found(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", text), Strings{text});
  EXPECT_EQ(found("(?:a|b)+c", std::string(1 << 18, 'a') + "c").size(), 1u);
}

TEST(Regex, RefusesWhatItCannotRead) {
  const std::pair<std::string, std::string> cases[] = {
      {"(a", "tokenizer.json: pre_tokenizer: bad pattern at byte 2"},
      {R"([\W])", "\\W inside a character class is not supported"},
      {"[a-z&&[^b]]", "classes within classes are not supported"},
      {"[[:alpha:]]", "classes within classes are not supported"},
      {"a\xFF", "not valid UTF-8"},
      {R"(\C)", "bad pattern"},
      {R"(\)", "bad pattern"},
  };
  for (const auto& [pattern, message] : cases) {
    const auto regex = Regex::compile(pattern, "tokenizer.json: pre_tokenizer");
    ASSERT_FALSE(regex) << pattern;
    EXPECT_THAT(regex.error().message, testing::HasSubstr(message));
  }
}

}  // namespace
}  // namespace nereus::text
