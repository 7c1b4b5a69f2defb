#include "nereus/config/key_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace nereus::config {
namespace {

enum class Fruit : uint8_t { apple, pear };

struct Thing {
  bool flag = false;
  int32_t small = 1;
  uint64_t seed = 0;
  double rate = 0.5;
  float ratio = 0.2F;
  std::optional<double> maybe;
  std::string name = "x";
  std::filesystem::path file;
  std::vector<std::string> words;
  Fruit fruit = Fruit::apple;
};

KeyTable<Thing> thing_keys() {
  KeyTable<Thing> keys;
  keys.add(
      "a.flag", [](auto& t) -> auto& { return t.flag; }, "A flag.");
  keys.add(
      "a.small", [](auto& t) -> auto& { return t.small; }, "An integer.", at_least(1));
  keys.add(
      "a.seed", [](auto& t) -> auto& { return t.seed; }, "A seed.", at_least(0));
  keys.add(
      "a.rate", [](auto& t) -> auto& { return t.rate; }, "A rate.", between(0, 1));
  keys.add(
      "a.ratio", [](auto& t) -> auto& { return t.ratio; }, "A ratio.");
  keys.add(
      "a.maybe", [](auto& t) -> auto& { return t.maybe; }, "May be unset.", above(0));
  keys.add(
      "b.name", [](auto& t) -> auto& { return t.name; }, "A name.");
  keys.add(
      "b.file", [](auto& t) -> auto& { return t.file; }, "A file.");
  keys.add(
      "b.words", [](auto& t) -> auto& { return t.words; }, "Words.");
  keys.choice(
      "b.fruit", [](auto& t) -> auto& { return t.fruit; },
      std::vector<std::pair<std::string, Fruit>>{{"apple", Fruit::apple}, {"pear", Fruit::pear}}, "A fruit.");
  return keys;
}

TEST(KeyTable, ReadsAndWritesEveryKindOfField) {
  struct Case {
    const char* key;
    ConfigValue value;
    KeyKind kind;
  };
  const Case cases[] = {
      {"a.flag", true, KeyKind::boolean},
      {"a.small", int64_t{7}, KeyKind::integer},
      {"a.seed", int64_t{9}, KeyKind::integer},
      {"a.rate", 0.25, KeyKind::number},
      {"a.ratio", 0.3, KeyKind::number},
      {"a.maybe", 2.5, KeyKind::number},
      {"b.name", std::string("y"), KeyKind::text},
      {"b.file", std::string("/tmp/z"), KeyKind::path},
      {"b.words", std::vector<std::string>{"p", "q"}, KeyKind::list},
      {"b.fruit", std::string("pear"), KeyKind::choice},
  };
  const auto keys = thing_keys();
  ASSERT_EQ(keys.keys().size(), std::size(cases));
  Thing thing;
  EXPECT_EQ(keys.find("a.maybe")->get(thing), std::nullopt);
  for (const auto& c : cases) {
    const auto* key = keys.find(c.key);
    ASSERT_NE(key, nullptr) << c.key;
    EXPECT_EQ(key->kind, c.kind) << c.key;
    EXPECT_NE(key->get(thing), std::optional(c.value)) << c.key;
    EXPECT_TRUE(key->set(thing, c.value)) << c.key;
    EXPECT_EQ(key->get(thing), std::optional(c.value)) << c.key;
  }
  EXPECT_EQ(keys.find("a.nothing"), nullptr);
}

TEST(KeyTable, BadValuesSayWhatWasExpectedAndFound) {
  struct Case {
    const char* key;
    ConfigValue value;
    const char* message;
  };
  const Case cases[] = {
      {"a.flag", int64_t{1}, "expected true or false, found 1"},
      {"a.small", int64_t{0}, "expected an integer of at least 1, found 0"},
      {"a.small", 2.5, "expected an integer of at least 1, found 2.5"},
      {"a.small", int64_t{3000000000}, "expected an integer of at least 1, found 3000000000"},
      {"a.rate", 1.5, "expected a number from 0 to 1, found 1.5"},
      {"a.rate", std::nan(""), "expected a number from 0 to 1, found nan"},
      {"a.ratio", HUGE_VAL, "expected a number, found inf"},
      {"a.maybe", 0.0, "expected a number greater than 0, found 0.0"},
      {"b.name", true, "expected a string, found true"},
      {"b.words", std::string("p"), "expected a list of strings, found \"p\""},
      {"b.fruit", std::string("plum"), "expected one of \"apple\" \"pear\", found \"plum\""},
  };
  const auto keys = thing_keys();
  Thing thing;
  for (const auto& c : cases) {
    const auto before = keys.find(c.key)->get(thing);
    const auto status = keys.find(c.key)->set(thing, c.value);
    ASSERT_FALSE(status) << c.key;
    EXPECT_EQ(status.error().message, c.message);
    EXPECT_EQ(keys.find(c.key)->get(thing), before);
  }
}

TEST(KeyTable, FloatsAreWrittenAsTheyWereTyped) {
  EXPECT_EQ(thing_keys().find("a.ratio")->get(Thing{}), std::optional<ConfigValue>(0.2));
}

}  // namespace
}  // namespace nereus::config
