#include "nereus/runtime/scoring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nereus/metrics/names.h"
#include "nereus/runtime/evaluation.h"
#include "tests/runtime/tiny_model.h"

namespace nereus::runtime {
namespace {

using ::testing::HasSubstr;

/// Two groups of two; the third completion has no reward of the first kind.
ScoredRollouts example() {
  ScoredRollouts r;
  for (uint64_t p = 0; p < 2; ++p) {
    Prompt& prompt = r.prompts.emplace_back();
    prompt.id = p;
    prompt.tokens = {1, 2, 3};
    rollout::Group group{p, {1, 2, 3}, {}};
    for (uint32_t c = 0; c < 2; ++c)
      group.completions.push_back({.index = c,
                                   .tokens = rollout::Tokens(2 + 2 * p + c, 4),
                                   .logprobs = {},
                                   .versions = {static_cast<int64_t>(p)},
                                   .finish = c == 0 ? rollout::Finish::stop : rollout::Finish::length});
    r.groups.push_back(group);
  }
  r.texts = {"a", "b", "c", "d"};
  r.values = {{1, 0, std::nullopt, 1}, {0.5, 0.5, std::nullopt, 0.5}};
  r.rewards = {1.5, 0.5, std::nullopt, 1.5};
  return r;
}

TEST(Scoring, MetricsOfARollout) {
  const auto record = rollout_metrics(example(), {"right", "short"});
  EXPECT_EQ(record.get("completions/mean_length"), 3.5);
  EXPECT_EQ(record.get("completions/min_length"), 2);
  EXPECT_EQ(record.get("completions/max_length"), 5);
  EXPECT_EQ(record.get("completions/mean_terminated_length"), 3);
  EXPECT_EQ(record.get("completions/clipped_ratio"), 0.5);
  for (const auto& [name, value] : record.entries()) EXPECT_TRUE(metrics::is_metric(name)) << name;
}

// One absent reward poisons the batch [ms-swift 8123]: it is left out of means and deviations.
TEST(Scoring, Fault36_AbsentRewardsAreLeftOut) {
  const auto record = rollout_metrics(example(), {"right", "short"});
  EXPECT_NEAR(*record.get("reward"), 3.5 / 3, 1e-12);
  EXPECT_NEAR(*record.get("rewards/right/mean"), 2.0 / 3, 1e-12);
  EXPECT_NEAR(*record.get("rewards/short/mean"), 0.5, 1e-12);
  EXPECT_NEAR(*record.get("reward_std"), std::sqrt(0.5) / 2, 1e-12);  // groups: 0.7071 and 0
}

// No spread inside groups though there is some between them [trl 3857]: counted.
TEST(Scoring, Fault38_GroupsWithoutSpreadAreCounted) {
  EXPECT_EQ(rollout_metrics(example(), {"right", "short"}).get("frac_reward_zero_std"), 0.5);
}

TEST(Scoring, GroupsKeepTheirRewards) {
  auto rollouts = example();
  const auto group = rollouts.scored_group(1);
  EXPECT_EQ(group.group.prompt_id, 1U);
  ASSERT_EQ(group.rewards.size(), 2U);
  EXPECT_EQ(group.rewards[0], (tasks::RewardValues{std::nullopt, 1}));
  rollouts.append(example());
  EXPECT_EQ(rollouts.groups.size(), 4U);
  EXPECT_EQ(rollouts.scored_group(2).rewards[1], (tasks::RewardValues{0.5, 0.5}));
}

TEST(Scoring, LinesOfCompletions) {
  const auto lines = completion_lines(example(), {"right", "short"}, 12);
  ASSERT_EQ(lines.size(), 4U);
  const auto line = *parse_ordered_json(lines[2], "line");
  EXPECT_EQ(line["step"], 12);
  EXPECT_EQ(line["prompt_id"], 1);
  EXPECT_EQ(line["text"], "c");
  EXPECT_TRUE(line["reward"].is_null());
  EXPECT_EQ(line["finish"], "stop");
  EXPECT_EQ(line["token_ids"].size(), 4U);
  EXPECT_EQ(line["version"], 1);
}

TEST(Scoring, ABadRewardIsNamedByItsNumber) {
  std::vector<RewardSection> sections(2);
  sections[1].options.kind = "regex";
  sections[1].options.pattern = "(";
  const auto rewards = make_rewards(sections);
  ASSERT_FALSE(rewards);
  EXPECT_THAT(rewards.error().message, HasSubstr("[[reward]] 1"));
}

TEST(Evaluation, WilsonInterval) {
  // The formula of Wilson (1927), worked out in Python.
  struct Case {
    int64_t hits, count;
    double low, high;
  };
  for (const auto& c : {Case{0, 10, 0.0, 0.27753279}, Case{5, 10, 0.23659309, 0.76340691},
                        Case{10, 10, 0.72246721, 1.0}, Case{128, 500, 0.21970771, 0.29601297}}) {
    const Share share = wilson(c.hits, c.count);
    EXPECT_NEAR(share.low, c.low, 1e-6) << c.hits << "/" << c.count;
    EXPECT_NEAR(share.high, c.high, 1e-6) << c.hits << "/" << c.count;
  }
  EXPECT_EQ(wilson(0, 0).high, 1);
}

TEST(Evaluation, NoRoomForAPrompt) {
  Job job;
  spec::ModelConfig model;
  model.context = 64;
  job.generation.sampling.max_new_tokens = 64;
  EXPECT_THAT(longest_prompt(job, model).error().message, HasSubstr("leaves no room"));
  job.generation.sampling.max_new_tokens = 60;
  EXPECT_EQ(*longest_prompt(job, model), 4);
  job.data.max_prompt_tokens = 5;
  EXPECT_THAT(longest_prompt(job, model).error().message, HasSubstr("exceed the model's context of 64"));
  job.data.max_prompt_tokens = 3;
  EXPECT_EQ(*longest_prompt(job, model), 3);
}

}  // namespace
}  // namespace nereus::runtime
