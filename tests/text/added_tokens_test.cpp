#include "nereus/text/added_tokens.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nereus::text {
namespace {

/// Segments as text: added tokens as "[ID:text]".
std::string segments(const AddedTokenFinder& finder, std::string_view text) {
  std::string out;
  for (const auto& segment : finder.split(text)) {
    const std::string part(text.substr(segment.span.begin, segment.span.end - segment.span.begin));
    out += segment.id ? fmt::format("[{}:{}]", *segment.id, part) : part;
  }
  return out;
}

TEST(AddedTokens, LeftmostThenLongest) {
  const AddedTokenFinder finder({{.id = 1, .content = "<a>"},
                                 {.id = 2, .content = "<a><b>"},
                                 {.id = 3, .content = ""},
                                 {.id = 4, .content = "a><c"},
                                 {.id = 5, .content = "é"}});
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"x<a>y", "x[1:<a>]y"},
      {"<a><b><a>", "[2:<a><b>][1:<a>]"},
      {"<a><c>", "[1:<a>]<c>"},
      {"(a><c)", "([4:a><c])"},
      {"<a", "<a"},
      {"<<a>>", "<[1:<a>]>"},
      {"èé\xC3", "è[5:é]\xC3"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(segments(finder, text), expected) << text;
}

TEST(AddedTokens, SingleWord) {
  const AddedTokenFinder finder({{.id = 1, .content = "ab", .single_word = true}});
  const std::pair<std::string, std::string> cases[] = {
      {"ab", "[1:ab]"},
      {" ab.", " [1:ab]."},
      {"cab", "cab"},
      {"abé", "abé"},
      {"éab", "éab"},
      {"ab_", "ab_"},
      {"1ab", "1ab"},
      {"ab\u0301", "ab\u0301"},
      {"日ab", "日ab"},
      {"🙂ab", "🙂[1:ab]"},
      {"ab ab", "[1:ab] [1:ab]"},
      {"abab", "abab"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(segments(finder, text), expected) << text;
}

TEST(AddedTokens, StripsWhiteSpaceAround) {
  const AddedTokenFinder finder(
      {{.id = 1, .content = "<l>", .lstrip = true}, {.id = 2, .content = "<r>", .rstrip = true}});
  const std::pair<std::string, std::string> cases[] = {
      {"a \u3000<l> b", "a[1: \u3000<l>] b"},
      {"a <r>\n b", "a [2:<r>\n ]b"},
      {"<r>  <l>", "[2:<r>  ][1:<l>]"},
      {" <l> <l> ", "[1: <l>][1: <l>] "},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(segments(finder, text), expected) << text;
}

}  // namespace
}  // namespace nereus::text
