#include "nereus/tasks/builtin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

namespace nereus::tasks {
namespace {

using testing::HasSubstr;

std::string question(const Sample& sample) {
  return sample.prompt[0]["content"].get<std::string>();
}

std::set<std::string> questions(const BuiltinOptions& options, Split split) {
  const auto dataset = value_or_throw(open_builtin("addition", options, split));
  std::set<std::string> all;
  for (uint64_t i = 0; i < dataset->size(); ++i) all.insert(question(*dataset->at(i)));
  EXPECT_EQ(all.size(), dataset->size()) << "each problem once";
  return all;
}

TEST(Builtin, AdditionIsTheTaskOfTheDemo) {
  const auto dataset = open_builtin("addition", {}, Split::train);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->size(), 2000U);
  EXPECT_EQ((*dataset)->description(), "addition train (2000 problems)");
  for (uint64_t i = 0; i < (*dataset)->size(); ++i) {
    const auto sample = (*dataset)->at(i);
    ASSERT_TRUE(sample);
    ASSERT_TRUE(sample->is_chat());
    EXPECT_EQ(sample->prompt[0]["role"], "user");
    int a = 0, b = 0;
    ASSERT_EQ(std::sscanf(question(*sample).c_str(), "What is %d + %d?", &a, &b), 2);
    EXPECT_EQ(question(*sample), fmt::format("What is {} + {}? Reply with the number only.", a, b));
    EXPECT_EQ(sample->columns["answer"], std::to_string(a + b));
    EXPECT_TRUE(a >= 1 && a <= 50 && b >= 1 && b <= 50);
    EXPECT_EQ(sample->id, i);
  }
}

TEST(Builtin, TrainAndHeldOutAreDisjointAndTogetherAll) {
  const BuiltinOptions options;
  auto all = questions(options, Split::train);
  const auto held_out = questions(options, Split::held_out);
  EXPECT_EQ(held_out.size(), 500U);
  for (const std::string& one : held_out) EXPECT_TRUE(all.insert(one).second) << one << " is in both";
  EXPECT_EQ(all.size(), 2500U);
}

TEST(Builtin, TheSplitSeedDecidesAlone) {
  BuiltinOptions options;
  const auto first = questions(options, Split::held_out);
  EXPECT_EQ(questions(options, Split::held_out), first);
  options.split_seed = 1;
  EXPECT_NE(questions(options, Split::held_out), first);
}

TEST(Builtin, TheSmallestTaskStillHasBothParts) {
  BuiltinOptions options;
  options.problems.max = 2;
  options.held_out = 0.0001;
  EXPECT_EQ(questions(options, Split::held_out).size(), 1U);
  EXPECT_EQ(questions(options, Split::train).size(), 3U);
  options.held_out = 0.9999;
  EXPECT_EQ(questions(options, Split::train).size(), 1U);
}

TEST(Builtin, EveryTaskOpens) {
  for (const std::string_view name : builtin_names()) {
    const auto dataset = open_builtin(name, {}, Split::held_out);
    ASSERT_TRUE(dataset) << dataset.error().message;
    const auto sample = (*dataset)->at((*dataset)->size() - 1);
    ASSERT_TRUE(sample);
    EXPECT_FALSE(sample->columns["answer"].get<std::string>().empty()) << name;
    EXPECT_THAT(sample->source, HasSubstr(std::string(name) + " held-out problem"));
  }
}

struct BadTask {
  const char* name;
  BuiltinOptions options;
  const char* message;
};

TEST(Builtin, BadOptionsAreNamed) {
  const auto options = [](auto change) {
    BuiltinOptions one;
    change(one);
    return one;
  };
  const BadTask cases[] = {
      {"additions", {}, "unknown task \"additions\"; expected one of addition, multiplication"},
      {"addition", options([](auto& o) { o.held_out = 0; }),
       "task addition: expected held_out between 0 and 1"},
      {"addition", options([](auto& o) { o.held_out = 1; }), "not 1"},
      {"addition", options([](auto& o) { o.problems.min = 60; }), "min is 60, above max, 50"},
      {"addition", options([](auto& o) { o.problems.max = 2'000'000'000; }), "expected min and max within"},
      {"addition", options([](auto& o) { o.problems.count = 3; }), "has no option \"count\""},
      {"addition", options([](auto& o) { o.problems.max = 1; }), "has 1 problem; two are needed"},
      {"comparison", options([](auto& o) { o.problems.max = 1; }), "expected max above min"},
      {"sort_numbers", options([](auto& o) { o.problems.count = 1; }), "expected count from 2 to 32, not 1"},
      {"sort_numbers", options([](auto& o) { o.problems.count = 30; }), "more than 2^62 problems"},
      {"count_letters", options([](auto& o) { o.problems.count = 20; }),
       "expected count from 1 to 19, not 20"},
      {"count_letters", options([](auto& o) { o.problems.min = 1; }), "has no options \"min\" and \"max\""},
  };
  for (const BadTask& one : cases) {
    const auto dataset = open_builtin(one.name, one.options, Split::train);
    ASSERT_FALSE(dataset) << one.message;
    EXPECT_THAT(dataset.error().message, HasSubstr(one.message));
  }
}

}  // namespace
}  // namespace nereus::tasks
