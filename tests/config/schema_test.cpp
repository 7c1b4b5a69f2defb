#include "nereus/config/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Wheel {
  int64_t size = 10;
  std::filesystem::path picture;
};

struct Cart {
  std::string name;
  std::filesystem::path manual;
  double load = 1;
  std::vector<Wheel> wheels;
};

Schema<Cart> cart_schema() {
  KeyTable<Cart> keys;
  keys.add(
      "cart.name", [](auto& cart) -> auto& { return cart.name; }, "Its name.");
  keys.add(
      "cart.manual", [](auto& cart) -> auto& { return cart.manual; }, "A file.");
  keys.add(
      "limits.load", [](auto& cart) -> auto& { return cart.load; }, "Load in kg.", above(0));
  KeyTable<Wheel> wheels;
  wheels.add(
      "wheel.size", [](auto& wheel) -> auto& { return wheel.size; }, "Size in cm.", at_least(1));
  wheels.add(
      "wheel.picture", [](auto& wheel) -> auto& { return wheel.picture; }, "A file.");
  Schema<Cart> schema(keys, "docs/carts.md");
  schema.add_list(
      "wheel", wheels, [](auto& cart) -> auto& { return cart.wheels; });
  return schema;
}

constexpr const char* kText = R"([cart]
name = "small"
manual = "m.txt"
[limits]
load = 20
[[wheel]]
size = 3
[[wheel]]
size = 4
picture = "/w.png"
)";

TEST(Schema, ReadsKeysAndTables) {
  const auto document = cart_schema().read(kText, "f/cart.toml", "/carts/f");
  ASSERT_TRUE(document) << document.error().message;
  const Cart& cart = document->value;
  EXPECT_EQ(cart.name, "small");
  EXPECT_EQ(cart.manual, "/carts/f/m.txt");
  EXPECT_EQ(cart.load, 20);
  ASSERT_EQ(cart.wheels.size(), 2U);
  EXPECT_EQ(cart.wheels[0].size, 3);
  EXPECT_EQ(cart.wheels[0].picture, "");
  EXPECT_EQ(cart.wheels[1].picture, "/w.png");
  EXPECT_EQ(document->places.of("wheel.1.size"), "f/cart.toml:9");
  EXPECT_EQ(document->places.of("wheel.1"), "f/cart.toml:9");
  EXPECT_EQ(document->places.of("limits.load"), "f/cart.toml:5");
}

TEST(Schema, TheCommandLineWins) {
  const auto schema = cart_schema();
  auto document = schema.read(kText, "cart.toml", "/carts");
  ASSERT_TRUE(document);
  ASSERT_TRUE(schema.set(
      *document, {{"limits.load", "5"}, {"wheel.0.size", "7"}, {"wheel.2.size", "8"}, {"cart.manual", "n"}}));
  EXPECT_EQ(document->value.load, 5);
  EXPECT_EQ(document->value.wheels[0].size, 7);
  ASSERT_EQ(document->value.wheels.size(), 3U);
  EXPECT_EQ(document->value.wheels[2].size, 8);
  EXPECT_EQ(document->value.manual, std::filesystem::current_path() / "n");
  EXPECT_EQ(document->places.of("limits.load"), "--limits.load");
}

TEST(Schema, BadFilesNameLineKeyAndWhatWasExpected) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"[cart]\nnaem = \"x\"\n", "c.toml:2: unknown key cart.naem; did you mean cart.name?"},
      {"[cart]\nload = 2\n", "c.toml:2: unknown key cart.load; did you mean limits.load?"},
      {"[zzzzz]\nqqqqq = 2\n", "c.toml:2: unknown key zzzzz.qqqqq; docs/carts.md lists all keys"},
      {"[[wheel]]\nsiez = 2\n", "c.toml:2: unknown key wheel.0.siez; did you mean wheel.size?"},
      {"[wheel]\nsize = 2\n",
       "c.toml:2: wheel.size: expected a table [[wheel]], which may stand several times"},
      {"[limits]\nload = 0\n", "c.toml:2: limits.load: expected a number greater than 0, found 0"},
      {"[[wheel]]\nsize = 2\n[[wheel]]\nsize = \"x\"\n",
       "c.toml:4: wheel.1.size: expected an integer of at least 1, found \"x\""},
  };
  for (const auto& c : cases) {
    const auto document = cart_schema().read(c.text, "c.toml", ".");
    ASSERT_FALSE(document) << c.text;
    EXPECT_THAT(document.error().message, HasSubstr(c.message));
  }
}

TEST(Schema, BadOverrides) {
  struct Case {
    Overrides overrides;
    const char* message;
  };
  const Case cases[] = {
      {{{"wheel.3.size", "1"}}, "--wheel.3.size: wheel.3.size: there are 2 [[wheel]], counted from 0"},
      {{{"wheel.99999999999999999999.size", "1"}},
       "wheel.99999999999999999999.size: expected a table [[wheel]]"},
      {{{"limits.load", "much"}},
       "--limits.load: limits.load: expected a number greater than 0, found \"much\""},
      {{{"limits.laod", "1"}}, "--limits.laod: unknown key limits.laod; did you mean limits.load?"},
  };
  const auto schema = cart_schema();
  for (const auto& c : cases) {
    auto document = schema.read(kText, "c.toml", ".");
    ASSERT_TRUE(document);
    const auto status = schema.set(*document, c.overrides);
    ASSERT_FALSE(status) << c.message;
    EXPECT_THAT(status.error().message, HasSubstr(c.message));
  }
}

TEST(Schema, WrittenBackReadsAsTheSame) {
  const auto schema = cart_schema();
  const auto document = schema.read(kText, "c.toml", "/carts");
  ASSERT_TRUE(document);
  for (const bool documented : {false, true}) {
    const std::string text = schema.text(document->value, documented);
    const auto again = schema.read(text, "d.toml", "/elsewhere");
    ASSERT_TRUE(again) << again.error().message << text;
    EXPECT_THAT(schema.differences(again->value, document->value), ElementsAre());
    EXPECT_EQ(schema.text(again->value, documented), text);
  }
  EXPECT_THAT(schema.text(document->value, true),
              HasSubstr("# Load in kg. (a number greater than 0)\nload = 20.0"));
}

TEST(Schema, DifferencesNameKeysTablesAndCounts) {
  const auto schema = cart_schema();
  Cart a, b;
  a.wheels.resize(2);
  b.wheels.resize(1);
  b.load = 2;
  b.wheels[0].size = 11;
  EXPECT_THAT(schema.differences(b, a), ElementsAre("limits.load: 2.0, was 1.0", "wheel: 1 of them, were 2",
                                                    "[[wheel]] 0: wheel.size: 11, was 10"));
}

TEST(Schema, Names) {
  EXPECT_THAT(cart_schema().names(),
              ElementsAre("cart.name", "cart.manual", "limits.load", "wheel.size", "wheel.picture"));
}

}  // namespace
}  // namespace nereus::config
