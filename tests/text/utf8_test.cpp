#include "nereus/text/utf8.h"

#include <gtest/gtest.h>

namespace nereus::text {
namespace {

TEST(Utf8, ReplacesEachMaximalSubpartAsPythonAndRustDo) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"aé€😀", "aé€😀"},
      {"\x80", "\uFFFD"},
      {"\xC0\xAF", "\uFFFD\uFFFD"},
      {"\xE0\x80\x80", "\uFFFD\uFFFD\uFFFD"},
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},            // a surrogate
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // past U+10FFFF
      {"\xF0\x9F\x98", "\uFFFD"},
      {"\xF0\x9F\x98x", "\uFFFDx"},
      {"\xE2\x82\xE2\x82\xAC", "\uFFFD€"},
      {"a\xFF\xFEz", "a\uFFFD\uFFFDz"},
  };
  for (const auto& [bytes, expected] : cases) {
    EXPECT_EQ(to_valid_utf8(bytes), expected);
    EXPECT_EQ(valid_utf8(bytes), bytes == expected) << expected;
  }
}

TEST(Utf8, MoveLeavesOnlyATruncatedCharacter) {
  const std::pair<std::string, std::string> cases[] = {{"ab", ""},
                                                       {"ab\xE2\x82", "\xE2\x82"},
                                                       {"\xF0", "\xF0"},
                                                       {"a\xFF", ""},
                                                       {"\xF0\x9F\x98\x80\xC3", "\xC3"}};
  for (const auto& [bytes, left] : cases) {
    std::string rest = bytes, out;
    move_valid_utf8(rest, out);
    EXPECT_EQ(rest, left);
    EXPECT_TRUE(valid_utf8(out));
  }
}

TEST(Utf8, EveryCharacterRoundTrips) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string bytes;
    append_utf8(code, bytes);
    const Utf8Char c = first_char(bytes);
    ASSERT_EQ(c.kind, Utf8Char::Kind::complete) << uint32_t{code};
    ASSERT_EQ(c.length, bytes.size());
    ASSERT_EQ(c.code, code);
  }
}

}  // namespace
}  // namespace nereus::text
