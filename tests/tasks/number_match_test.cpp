#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/tasks/match_rewards.h"
#include "tests/tasks/scored.h"

namespace nereus::tasks {
namespace {

struct NumberCase {
  const char* text;
  const char* number;  ///< nullptr: none
};

TEST(LastNumber, Table) {
  const NumberCase cases[] = {
      {"57", "57"},
      {"The answer is 57.", "57"},
      {"23 + 34 = 57", "57"},
      {"57\n\nSo 57 it is, not 58!", "58"},
      {"**57**", "57"},
      {"$57", "57"},
      {"57%", "57"},
      {"abc123", "123"},
      {"1,234", "1234"},
      {"1,234,567.50 euros", "1234567.5"},
      {"1, 2, 3", "3"},
      {"1,2,3", "3"},
      {"12,34", "34"},
      {"1234,567", "567"},
      {"1,2345", "2345"},
      {"0.50", "0.5"},
      {"1.0", "1"},
      {"007", "7"},
      {".5", "0.5"},
      {"x.5", "5"},
      {"3.", "3"},
      {"3.14.15", "15"},
      {"-5", "-5"},
      {"= -5", "-5"},
      {"(-5)", "-5"},
      {"\xE2\x88\x92"
       "5",
       "-5"},
      {"10-3", "3"},
      {"a-3", "3"},
      {"10 - 3", "3"},
      {"-0", "0"},
      {"0.000", "0"},
      {"1e3", "1000"},
      {"1.5E-3", "0.0015"},
      {"2e+2", "200"},
      {"5 eggs", "5"},
      {"5eggs", "5"},
      {"1e999999", "999999"},
      {"1e", "1"},
      {"123456789012345678901234567890", "123456789012345678901234567890"},
      {"100", "100"},
      {"0.1", "0.1"},
      {"", nullptr},
      {"none", nullptr},
      {"-", nullptr},
      {".", nullptr},
      {"e5e", "5"},
  };
  for (const NumberCase& one : cases)
    EXPECT_EQ(last_number(one.text), one.number ? std::optional<std::string>(one.number) : std::nullopt)
        << one.text;
}

TEST(NumberMatch, OneWhereTheLastNumberIsRight) {
  const auto reward = make_number_match("correct", "answer");
  EXPECT_EQ(reward->name(), "correct");
  Scored scored;
  scored.add("42").add("It is 42.").add("42 or 43").add("42.0", {{"answer", 42}}).add("no idea");
  scored.add("1250", {{"answer", "5 * 250 = 1250\n#### 1,250"}}).add("421").add("-42");
  const auto values = reward->score(scored.inputs());
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(*values, testing::ElementsAre(1, 1, 0, 1, 0, 1, 0, 0));
}

TEST(NumberMatch, AnExpectedAnswerWithoutNumberIsAnErrorOfTheData) {
  const auto reward = make_number_match("correct", "answer");
  Scored words, missing;
  EXPECT_EQ(error_of(reward->score(words.add("42", {{"answer", "forty"}}).inputs())),
            "reward \"correct\": data.jsonl:1: expected a number in column \"answer\", not \"forty\"");
  EXPECT_EQ(error_of(reward->score(missing.add("42", {{"result", "42"}}).inputs())),
            "reward \"correct\": data.jsonl:1 has no column \"answer\"; its columns are: result");
}

}  // namespace
}  // namespace nereus::tasks
