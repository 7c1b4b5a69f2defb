#include "nereus/config/config_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::config {
namespace {

using List = std::vector<std::string>;

TEST(ToToml, WritesWhatTomlReads) {
  struct Case {
    ConfigValue value;
    const char* text;
  };
  const Case cases[] = {
      {true, "true"},
      {int64_t{-3}, "-3"},
      {0.5, "0.5"},
      {2.0, "2.0"},  // an integer would be refused where it is read back into a list of numbers
      {1e-9, "1e-09"},
      {std::string("a\"b\\c\nd\te\x01"), R"("a\"b\\c\nd\te\u0001")"},
      {List{"a", "b c"}, R"(["a", "b c"])"},
      {List{}, "[]"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(to_toml(c.value), c.text);
    const auto again = parse_toml(std::string("x = ") + c.text, "t");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->at(0).value, c.value) << c.text;
  }
}

TEST(ValueFromText, ByTheKindOfTheKey) {
  struct Case {
    const char* text;
    KeyKind kind;
    ConfigValue value;
  };
  const Case cases[] = {
      {"true", KeyKind::boolean, true},
      {"yes", KeyKind::boolean, std::string("yes")},  // the key's own check names what it expected
      {"12", KeyKind::integer, int64_t{12}},
      {"+12", KeyKind::integer, int64_t{12}},
      {"1.5", KeyKind::integer, 1.5},
      {"12x", KeyKind::integer, std::string("12x")},
      {"1e-5", KeyKind::number, 1e-5},
      {"", KeyKind::number, std::string()},
      {"a,b", KeyKind::list, List{"a", "b"}},
      {"[\"a,b\", \"c\"]", KeyKind::list, List{"a,b", "c"}},
      {"[\"a", KeyKind::list, std::string("[\"a")},
      {"", KeyKind::list, List{}},
      {"12", KeyKind::text, std::string("12")},
      {"12", KeyKind::path, std::string("12")},
  };
  for (const auto& c : cases) EXPECT_EQ(value_from_text(c.text, c.kind), c.value) << c.text;
}

}  // namespace
}  // namespace nereus::config
