#include "nereus/text/jinja_unicode.h"

#include <gtest/gtest.h>

namespace nereus::text::jinja {
namespace {

// Characters of one to four bytes, and bytes that are no UTF-8, which count one each and come back as they
// were.
TEST(JinjaUnicode, DecodesAndEncodes) {
  for (const auto& [text, chars] : std::vector<std::pair<std::string, size_t>>{{"", 0},
                                                                               {"abc", 3},
                                                                               {"é", 1},
                                                                               {"日本", 2},
                                                                               {"🎉", 1},
                                                                               {"a\xffz", 3},
                                                                               {"\xe6\x97", 2},
                                                                               {"\xed\xa0\x80", 3},
                                                                               {"\xf4\x90\x80\x80", 4},
                                                                               {"\xc0\xaf", 2}}) {
    EXPECT_EQ(count_chars(text), chars) << text;
    EXPECT_EQ(decode(text).size(), chars) << text;
    EXPECT_EQ(encode(decode(text)), text);
  }
}

TEST(JinjaUnicode, Strips) {
  const std::u32string letters = U"aé";
  EXPECT_EQ(strip("\u3000 \tx y\u00a0\n", nullptr, true, true), "x y");
  EXPECT_EQ(strip(" x ", nullptr, true, false), "x ");
  EXPECT_EQ(strip(" x ", nullptr, false, true), " x");
  EXPECT_EQ(strip("aéxaé", &letters, true, true), "x");
  EXPECT_EQ(strip("aéa", &letters, true, true), "");
  EXPECT_EQ(strip("x\xff ", nullptr, true, true), "x\xff");
  EXPECT_EQ(strip("\x97", nullptr, true, true), "\x97");
}

// As Python's str methods: the Greek final sigma, the German sharp s, the digraph with a title form.
TEST(JinjaUnicode, MapsCase) {
  EXPECT_EQ(upper("straße é"), "STRASSE É");
  EXPECT_EQ(lower("ΟΔΟΣ İ"), "οδος i̇");
  EXPECT_EQ(capitalize("ßeta GAMMA"), "Sseta gamma");
  EXPECT_EQ(capitalize(""), "");
  EXPECT_EQ(title("they're ǆ x2y"), "They'Re ǅ X2Y");
}

TEST(JinjaUnicode, KnowsClasses) {
  EXPECT_TRUE(is_space(0x2003) && is_space(0x1C) && !is_space(0x200B));
  EXPECT_TRUE(is_printable(' ') && is_printable(U'é') && !is_printable(0xA0) && !is_printable(0x7F));
  EXPECT_TRUE(is_decimal(U'٣') && !is_decimal(U'²') && is_digit(U'²') && !is_digit(U'½') && is_numeric(U'½'));
}

}  // namespace
}  // namespace nereus::text::jinja
