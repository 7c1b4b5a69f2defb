#include "nereus/text/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

namespace nereus::text {
namespace {

TEST(ByteAlphabet, WritesBytesAsGpt2Does) {
  const std::pair<int, std::string> cases[] = {{'A', "A"},  {' ', "Ġ"},  {'\n', "Ċ"}, {'\t', "ĉ"},
                                               {0, "Ā"},    {0x7F, "ġ"}, {0xA0, "ł"}, {0xAD, "Ń"},
                                               {0xAE, "®"}, {0xFF, "ÿ"}};
  for (const auto& [byte, text] : cases) EXPECT_EQ(byte_to_char(static_cast<uint8_t>(byte)), text) << byte;
}

TEST(ByteAlphabet, IsOneToOne) {
  std::set<std::string> seen;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = byte_to_char(static_cast<uint8_t>(byte));
    EXPECT_TRUE(seen.insert(text).second) << byte;
    EXPECT_EQ(alphabet_to_bytes(text), std::string(1, static_cast<char>(byte)));
  }
}

TEST(ByteAlphabet, RefusesOtherCharacters) {
  EXPECT_EQ(alphabet_to_bytes("ĠhÃ©"), " hé");
  for (const std::string text : {" ", "a b", "日", "ń", "a\xFF"})
    EXPECT_EQ(alphabet_to_bytes(text), std::nullopt);
}

}  // namespace
}  // namespace nereus::text
