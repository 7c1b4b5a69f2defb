#include "nereus/tasks/problems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>
#include <vector>

namespace nereus::tasks {
namespace {

/// All questions of a task with these options; `check` is told each problem.
template <class Check>
std::set<std::string> all_questions(const Problems& problems, Check check) {
  std::set<std::string> questions;
  for (uint64_t i = 0; i < problems.size(); ++i) {
    const Problem problem = problems.at(i);
    questions.insert(problem.question);
    check(problem);
  }
  return questions;
}

TEST(Addition, NegativeNumbersToo) {
  const auto problems = value_or_throw(addition({.min = -2, .max = 2, .count = {}}));
  EXPECT_EQ(problems->at(0).question, "What is -2 + -2? Reply with the number only.");
  EXPECT_EQ(problems->at(0).answer, "-4");
  EXPECT_EQ(all_questions(*problems, [](const Problem&) {}).size(), 25U);
}

TEST(Multiplication, AnswersAreRight) {
  const auto problems = value_or_throw(multiplication({}));
  EXPECT_EQ(problems->size(), 19U * 19U);
  all_questions(*problems, [](const Problem& problem) {
    int a = 0, b = 0;
    ASSERT_EQ(std::sscanf(problem.question.c_str(), "What is %d * %d?", &a, &b), 2);
    EXPECT_EQ(problem.answer, std::to_string(a * b));
  });
}

TEST(Comparison, NeverEqualAndAnswersAreRight) {
  const auto problems = value_or_throw(comparison({.min = 1, .max = 9, .count = {}}));
  const auto questions = all_questions(*problems, [](const Problem& problem) {
    int a = 0, b = 0;
    ASSERT_EQ(std::sscanf(problem.question.c_str(), "Which number is larger, %d or %d?", &a, &b), 2);
    EXPECT_NE(a, b);
    EXPECT_EQ(problem.answer, std::to_string(std::max(a, b)));
  });
  EXPECT_EQ(questions.size(), 72U);
}

TEST(SortNumbers, AnswersAreRight) {
  const auto problems = value_or_throw(sort_numbers({.min = 1, .max = 5, .count = 3}));
  const auto questions = all_questions(*problems, [](const Problem& problem) {
    int a = 0, b = 0, c = 0;
    ASSERT_EQ(std::sscanf(problem.question.c_str(),
                          "Sort these numbers from smallest to largest: %d, %d, %d.", &a, &b, &c),
              3);
    std::vector<int> numbers = {a, b, c};
    std::ranges::sort(numbers);
    EXPECT_EQ(problem.answer, fmt::format("{}, {}, {}", numbers[0], numbers[1], numbers[2]));
  });
  EXPECT_EQ(questions.size(), 125U);
}

TEST(CountLetters, AnswersAreRight) {
  const auto problems = value_or_throw(count_letters({.min = {}, .max = {}, .count = 3}));
  std::set<std::string> answers;
  const auto questions = all_questions(*problems, [&](const Problem& problem) {
    char letter = 0, word[4] = {};
    ASSERT_EQ(std::sscanf(problem.question.c_str(), "How many times does the letter \"%c\" occur in \"%3s\"?",
                          &letter, word),
              2);
    EXPECT_EQ(problem.answer, std::to_string(std::count(word, word + 3, letter)));
    answers.insert(problem.answer);
  });
  EXPECT_EQ(questions.size(), 4096U);
  EXPECT_EQ(answers, (std::set<std::string>{"0", "1", "2", "3"}));
}

}  // namespace
}  // namespace nereus::tasks
