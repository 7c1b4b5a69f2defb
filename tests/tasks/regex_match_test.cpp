#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/tasks/match_rewards.h"
#include "tests/tasks/scored.h"

namespace nereus::tasks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RegexMatch, FixedPattern) {
  const auto reward = make_regex_match("format", R"(^<answer>\d+</answer>$)");
  ASSERT_TRUE(reward) << reward.error().message;
  Scored scored;
  scored.add("<answer>42</answer>").add("42").add("<answer>x</answer>");
  const auto values = (*reward)->score(scored.inputs());
  ASSERT_TRUE(values);
  EXPECT_THAT(*values, ElementsAre(1, 0, 0));
}

TEST(RegexMatch, ColumnsAreTakenLiterally) {
  const auto reward = make_regex_match("says", R"((?i)\b{who}: {answer}$)");
  ASSERT_TRUE(reward) << reward.error().message;
  Scored scored;
  scored.add("Bob: 4.2", {{"who", "bob"}, {"answer", "4.2"}});
  scored.add("Bob: 4x2", {{"who", "bob"}, {"answer", "4.2"}});
  scored.add("Eve: a{2}", {{"who", "eve"}, {"answer", "a{2}"}});
  scored.add("Eve: 7", {{"who", "eve"}, {"answer", 7}});
  const auto values = (*reward)->score(scored.inputs());
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(*values, ElementsAre(1, 0, 1, 1));
}

TEST(RegexMatch, BadPatternsFailWhenTheJobIsRead) {
  EXPECT_EQ(error_of(make_regex_match("format", "")), "reward \"format\": expected a pattern");
  EXPECT_THAT(error_of(make_regex_match("format", "[{answer}")),
              HasSubstr("reward \"format\": pattern \"[x\", character"));
  EXPECT_THAT(error_of(make_regex_match("format", "a(b")), HasSubstr("missing closing parenthesis"));
}

TEST(RegexMatch, MissingColumnIsNamed) {
  const auto reward = make_regex_match("says", "{label}");
  ASSERT_TRUE(reward);
  Scored scored;
  EXPECT_EQ(error_of((*reward)->score(scored.add("x").inputs())),
            "reward \"says\": data.jsonl:1 has no column \"label\"; its columns are: answer");
}

TEST(RegexMatch, ASearchThatExplodesIsAbsentWithAWarning) {
  const auto reward = make_regex_match("slow", "^(a+)+$");
  ASSERT_TRUE(reward);
  Scored scored;
  scored.add("aaa").add(std::string(60, 'a') + "b").add("b");
  const auto values = (*reward)->score(scored.inputs());
  ASSERT_TRUE(values);
  EXPECT_THAT(*values, ElementsAre(testing::Optional(1.0), std::nullopt, testing::Optional(0.0)));
  EXPECT_THAT((*reward)->take_warnings(),
              ElementsAre(HasSubstr("reward \"slow\": data.jsonl:2: the search gave up")));
  EXPECT_TRUE((*reward)->take_warnings().empty());
}

}  // namespace
}  // namespace nereus::tasks
