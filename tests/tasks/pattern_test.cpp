#include "nereus/tasks/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tasks/scored.h"

namespace nereus::tasks {
namespace {

struct SplitCase {
  const char* pattern;
  std::vector<std::string> texts, columns;
};

TEST(SplitPlaceholders, Table) {
  const SplitCase cases[] = {
      {"", {""}, {}},
      {"abc", {"abc"}, {}},
      {"{answer}", {"", ""}, {"answer"}},
      {"^{a} or {b_2}$", {"^", " or ", "$"}, {"a", "b_2"}},
      {"a{2}b{2,3}c{,4}", {"a{2}b{2,3}c{,4}"}, {}},
      {R"(\{answer\})", {R"(\{answer\})"}, {}},
      {R"(\p{Lu}\x{41}\k{name}\N{U+41}\P{L}\g{x}\o{101})",
       {R"(\p{Lu}\x{41}\k{name}\N{U+41}\P{L}\g{x}\o{101})"},
       {}},
      {R"(\d{answer})", {R"(\d)", ""}, {"answer"}},
      {R"(\\{answer})", {R"(\\)", ""}, {"answer"}},
      {"{no end", {"{no end"}, {}},
      {"{with space}", {"{with space}"}, {}},
      {"{}", {"{}"}, {}},
      {R"(\p{)", {R"(\p{)"}, {}},
      {R"(\)", {R"(\)"}, {}},
  };
  for (const SplitCase& one : cases) {
    const PatternTemplate parts = split_placeholders(one.pattern);
    EXPECT_EQ(parts.texts, one.texts) << one.pattern;
    EXPECT_EQ(parts.columns, one.columns) << one.pattern;
  }
}

TEST(QuoteForPattern, EveryByteMatchesItself) {
  std::string ascii;
  for (char c = 0; c < 127; ++c) ascii += c;
  for (const std::string& text :
       {ascii, std::string("a.b*c\\E(d)"), std::string("日本 #x"), std::string("{answer}")}) {
    for (const char* mode : {"", "(?x)"}) {
      const auto pattern = Pattern::compile(mode + std::string("^") + quote_for_pattern(text) + "$");
      ASSERT_TRUE(pattern) << pattern.error().message;
      EXPECT_TRUE(*pattern->found_in(text)) << mode << text;
      EXPECT_FALSE(*pattern->found_in(text + "x"));
    }
  }
}

TEST(Pattern, Utf8AndErrors) {
  EXPECT_TRUE(*value_or_throw(Pattern::compile("^.$")).found_in("日"));
  EXPECT_TRUE(*value_or_throw(Pattern::compile(R"(^\w+$)")).found_in("äö"));
  EXPECT_THAT(error_of(Pattern::compile("a(b")),
              testing::HasSubstr("pattern \"a(b\", character 4: missing closing parenthesis"));
  EXPECT_THAT(error_of(Pattern::compile("\xff")), testing::HasSubstr("UTF-8 error"));
}

TEST(Pattern, ASearchThatExplodesGivesUp) {
  const auto pattern = Pattern::compile("^(a+)+$");
  ASSERT_TRUE(pattern);
  const auto found = pattern->found_in(std::string(60, 'a') + "b");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, testing::HasSubstr("match limit exceeded"));
}

}  // namespace
}  // namespace nereus::tasks
