#include "nereus/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus {
namespace {

TEST(ParseJson, Good) {
  const auto value = parse_json(R"({"a": [1, 2.5, "x"]})", "t.json");
  ASSERT_TRUE(value);
  EXPECT_EQ((*value)["a"][2], "x");
}

TEST(ParseJson, OrderedKeepsOrder) {
  const auto value = parse_ordered_json(R"({"b": 1, "a": 2})", "t.json");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->begin().key(), "b");
}

TEST(ParseJson, BadInputNamesTheSource) {
  for (const char* text : {"", "{", "[1,]", "nul", "\"\\ud800\"", "{\"a\":1}}", "\xff"}) {
    const auto value = parse_json(text, "t.json:3");
    ASSERT_FALSE(value) << text;
    EXPECT_THAT(value.error().message, testing::StartsWith("t.json:3: not valid JSON: ")) << text;
  }
}

TEST(ParseJson, RefusesDeepNesting) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  const auto value = parse_json(deep, "deep.json");
  ASSERT_FALSE(value);
  EXPECT_THAT(value.error().message, testing::HasSubstr("deeper than 256"));
}

}  // namespace
}  // namespace nereus
