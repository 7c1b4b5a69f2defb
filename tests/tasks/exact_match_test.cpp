#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/tasks/match_rewards.h"
#include "tests/tasks/scored.h"

namespace nereus::tasks {
namespace {

struct ExactCase {
  const char* text;
  OrderedJson answer;
  double reward;
};

TEST(ExactMatch, Table) {
  const ExactCase cases[] = {
      {"yes", "yes", 1},
      {" yes\n", "yes", 1},
      {"yes", " yes ", 1},
      {"Yes", "yes", 0},
      {"yes.", "yes", 0},
      {"", "yes", 0},
      {"42", 42, 1},
      {"0.5", 0.5, 1},
      {"b", {"a", "b"}, 1},
      {"c", {"a", "b"}, 0},
      {"7", OrderedJson{7, 8}, 1},
      {"x", OrderedJson::array(), 0},
      {"日本", "日本", 1},
  };
  const auto reward = make_exact_match("exact", "answer");
  EXPECT_EQ(reward->name(), "exact");
  for (const ExactCase& one : cases) {
    Scored scored;
    const auto values = reward->score(scored.add(one.text, {{"answer", one.answer}}).inputs());
    ASSERT_TRUE(values) << values.error().message;
    EXPECT_EQ((*values)[0], one.reward) << one.text << " against " << one.answer.dump();
  }
}

TEST(ExactMatch, BadColumnsAreNamed) {
  const auto reward = make_exact_match("exact", "label");
  Scored missing, none, null, nested;
  EXPECT_EQ(error_of(reward->score(missing.add("x", {{"answer", "x"}, {"topic", "t"}}).inputs())),
            "reward \"exact\": data.jsonl:1 has no column \"label\"; its columns are: answer, topic");
  EXPECT_EQ(error_of(reward->score(none.add("x", OrderedJson::object()).inputs())),
            "reward \"exact\": data.jsonl:1 has no column \"label\"; its columns are: none");
  EXPECT_EQ(error_of(reward->score(null.add("x", {{"label", nullptr}}).inputs())),
            "reward \"exact\": data.jsonl:1: expected column \"label\" to be a text or a number, not null");
  EXPECT_EQ(
      error_of(reward->score(nested.add("x", {{"label", {"a", true}}}).inputs())),
      "reward \"exact\": data.jsonl:1: expected column \"label\" to hold texts or numbers, not boolean");
}

}  // namespace
}  // namespace nereus::tasks
