#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/config/config_value.h"

namespace nereus::config {
namespace {

using ::testing::HasSubstr;

TEST(ParseToml, ListsKeysInTheOrderOfTheFile) {
  const auto entries = parse_toml("z = 1\n[b]\nc.d = \"x\"\n[[e]]\nf = true\n[[e]]\nf = false\n", "t.toml");
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 4U);
  const char* expected[] = {"z t.toml:1", "b.c.d t.toml:3", "e.0.f t.toml:5", "e.1.f t.toml:7"};
  for (size_t i = 0; i < 4; ++i) {
    const auto& entry = (*entries)[i];
    EXPECT_EQ(entry.key + " " + entry.place, expected[i]);
  }
}

TEST(ParseToml, BadTextNamesFileAndLine) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"a = 1\nb = = 2\n", "t.toml:2: "},
      {"a = 1\na = 2\n", "t.toml:2: "},
      {"[a\n", "t.toml:1: "},
      {"a = \"open\n", "t.toml:1: "},
      {"\n\na = 1979-05-27\n", "t.toml:3: a: dates and times are not used by any key"},
      {"a = [1, 2]\n", "t.toml:1: a: expected a list of strings"},
      {"a = [\"x\", 2]\n", "t.toml:1: a: expected a list of strings"},
      {"[[a]]\nb = 1\n[[a]]\n", "t.toml:3: [[a]] number 1 is empty"},
      {"a = \"\xff\"\n", "t.toml:1: "},
      // Found by the fuzzer: toml++ asserts on these, or worse where assertions are off.
      {"a = 1\n[=]\n", "t.toml:2: not TOML: expected the name of a table after ["},
      {"[[\x01chine]]\n", "t.toml:1: a control character"},
      {"a = 1\n[\xcd\x92o\n", "t.toml:2: a control character, or a letter"},
      {"name = é\n", "t.toml:1: a control character, or a letter"},
  };
  for (const auto& c : cases) {
    const auto entries = parse_toml(c.text, "t.toml");
    ASSERT_FALSE(entries) << c.text;
    EXPECT_THAT(entries.error().message, HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace nereus::config
