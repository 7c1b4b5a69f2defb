#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "nereus/base/json.h"
#include "nereus/metrics/names.h"
#include "nereus/runtime/group_json.h"
#include "nereus/runtime/train_job.h"
#include "nereus/runtime/train_state.h"
#include "tests/runtime/tiny_job.h"

namespace nereus::runtime {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class AsyncTrain : public TinyRuns {
 protected:
  AsyncTrain()
      : TinyRuns(tiny_job("threads = 2\nsteps = 8\ncheckpoint_every = 2", R"([async]
enabled = true
max_staleness = 2
[eval]
samples = 8)")) {}
};

std::string numbered(int64_t step) {
  return fmt::format("step-{:08}", step);
}

std::vector<OrderedJson> completions_of(const fs::path& run, int64_t step) {
  return lines_of(run / "completions" / (numbered(step) + ".jsonl"));
}

/// Every prompt that the stream gave is trained once, or stands in the last checkpoint.
void expect_every_prompt_once(const fs::path& run, int64_t steps) {
  std::multiset<uint64_t> seen;
  for (int64_t step = 1; step <= steps; ++step)
    for (const auto& line : completions_of(run, step))
      if (line["completion"] == 0) seen.insert(line["prompt_id"].get<uint64_t>());
  EXPECT_EQ(seen.size(), static_cast<size_t>(2 * steps));
  const auto state = value_or_throw(read_train_state(run / "checkpoints" / numbered(steps)));
  seen.insert(state.rollouts.unfinished.begin(), state.rollouts.unfinished.end());
  for (const Json& group : state.rollouts.queued)
    seen.insert(value_or_throw(group_from_json(group)).prompt_id);
  std::multiset<uint64_t> expected;
  for (uint64_t id = 0; id < state.rollouts.cursor; ++id) expected.insert(id);
  EXPECT_EQ(seen, expected);
}

TEST_F(AsyncTrain, TrainsEveryPromptOnceWithinTheBound) {
  const fs::path path = run("one", {{"eval.every", "4"}});
  const auto lines = lines_of(path / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 8U);
  for (const auto& line : lines) {
    EXPECT_LE(line["sample/staleness_max"].get<double>(), 2);
    for (const char* name : {"sample/staleness_mean", "sample/queue_size", "sample/time_in_queue_s",
                             "sample/dropped_stale_total", "rollout/inflight", "perf/rollout_wait_s"})
      EXPECT_TRUE(line.contains(name)) << name;
    for (const auto& [name, value] : line.items())
      EXPECT_TRUE(name == "step" || metrics::is_metric(name)) << name;
  }
  for (int64_t step = 1; step <= 8; ++step)
    for (const auto& line : completions_of(path, step)) {
      EXPECT_LE(line["version"].get<int64_t>(), step - 1);
      EXPECT_GE(line["version"].get<int64_t>(), step - 1 - 2);
    }
  expect_every_prompt_once(path, 8);
  EXPECT_EQ(lines_of(path / "evaluations.jsonl").size(), 3U);
}

// With no staleness allowed, it is the synchronous run: the same completions from the same policies.
TEST_F(AsyncTrain, OnPolicyItSamplesWhatTheSynchronousRunDoes) {
  const fs::path sync = run("sync", {{"async.enabled", "false"}});
  const fs::path async = run("async", {{"async.max_staleness", "0"}});
  for (int64_t step = 1; step <= 8; ++step) {
    const auto expected = completions_of(sync, step), got = completions_of(async, step);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i)
      for (const char* key : {"prompt_id", "completion", "token_ids", "version", "reward"})
        EXPECT_EQ(got[i][key], expected[i][key]) << "step " << step << ", line " << i;
  }
}

TEST_F(AsyncTrain, AResumedRunLosesNoGroupAndTrainsNoneTwice) {
  // Fault 40: staleness has no bound after a resume [AReaL 1388].
  run("cut", {{"run.steps", "3"}, {"run.checkpoint_every", "1"}});
  const fs::path path = run("cut", {{"run.steps", "8"}}, OnExisting::resume);
  for (const auto& line : lines_of(path / "metrics.jsonl"))
    EXPECT_LE(line["sample/staleness_max"].get<double>(), 2);
  expect_every_prompt_once(path, 8);
}

TEST_F(AsyncTrain, NewPoliciesEverySomeSteps) {
  const fs::path path = run("rare", {{"async.sync_steps", "3"}});
  for (int64_t step = 1; step <= 8; ++step)
    for (const auto& line : completions_of(path, step)) EXPECT_EQ(line["version"].get<int64_t>() % 3, 0);
  expect_every_prompt_once(path, 8);
}

TEST_F(AsyncTrain, AFatalErrorOfTheSamplerEndsTheRun) {
  // Fault 44: the trainer waits hours after the generators died [NeMo-RL 3488].
  const auto outcome = try_run("broken", {{"data.max_prompt_tokens", "1"}});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("at most 1 fit"));
}

TEST_F(AsyncTrain, GroupsWithoutSpreadAreReplacedBesideTraining) {
  const fs::path path = run("spread", {{"grpo.resample_rounds", "20"}});
  for (const auto& line : lines_of(path / "metrics.jsonl"))
    EXPECT_EQ(line["frac_reward_zero_std"].get<double>(), 0);
}

TEST_F(AsyncTrain, StopStringsEndCompletions) {
  const fs::path path = run("stops", {{"generation.stop", "e"}, {"generation.max_new_tokens", "12"}});
  bool stopped = false;
  for (const auto& line : completions_of(path, 1)) stopped |= line["finish"] == "stop";
  EXPECT_TRUE(stopped);
}

TEST_F(AsyncTrain, JobsThatCannotWorkAreRefused) {
  const std::pair<config::Overrides, const char*> cases[] = {
      {{{"lora.enabled", "false"}}, "lora.enabled"},
      {{{"async.sync_steps", "4"}}, "async.sync_steps = 4 is more than async.max_staleness + 1 = 3"},
      {{{"async.max_staleness", "-1"}}, "async.max_staleness"},
      {{{"async.enabled", "false"}, {"async.server", "http://a"}}, "needs async.enabled = true"},
  };
  for (const auto& [overrides, expected] : cases) {
    const auto outcome = try_run("refused", overrides);
    ASSERT_FALSE(outcome) << expected;
    EXPECT_THAT(outcome.error().message, HasSubstr(expected));
  }
}

TEST(GroupJson, KeepsEveryBit) {
  rollout::Group group{7, {}, {{0, {1, 2}, {-0.1F, -1.2345678e-7F}, {3, 3}, rollout::Finish::stop}}};
  const auto read = value_or_throw(group_from_json(Json::parse(group_json(group).dump())));
  EXPECT_EQ(read.prompt_id, 7U);
  ASSERT_EQ(read.completions.size(), 1U);
  EXPECT_EQ(read.completions[0].tokens, group.completions[0].tokens);
  EXPECT_EQ(read.completions[0].logprobs, group.completions[0].logprobs);
  EXPECT_EQ(read.completions[0].versions, group.completions[0].versions);
  EXPECT_EQ(read.completions[0].finish, rollout::Finish::stop);
}

TEST(GroupJson, BrokenOnesAreErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "expected an object"},
      {R"({"completions": []})", "prompt_id is missing"},
      {R"({"prompt_id": "a", "completions": []})", "prompt_id"},
      {R"({"prompt_id": 1})", "completions"},
      {R"({"prompt_id": 1, "completions": [{"index": 0, "tokens": [1], "logprobs": [], "versions": [0],
          "finish": "stop"}]})",
       "expected 1 values"},
      {R"({"prompt_id": 1, "completions": [{"index": 0, "tokens": [], "logprobs": [], "versions": [],
          "finish": "gone"}]})",
       "\"gone\""},
  };
  for (const auto& [text, expected] : cases) {
    const auto group = group_from_json(Json::parse(text));
    ASSERT_FALSE(group) << text;
    EXPECT_THAT(group.error().message, HasSubstr(expected));
  }
}

}  // namespace
}  // namespace nereus::runtime
