#include "nereus/runtime/train_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nereus/base/json.h"
#include "nereus/checkpoint/adapter.h"
#include "nereus/metrics/names.h"
#include "nereus/ops/product.h"
#include "nereus/runtime/checkpoint_store.h"
#include "nereus/runtime/eval_job.h"
#include "tests/runtime/tiny_job.h"

namespace nereus::runtime {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

// Answers of a random model with an "e" in them: about half of them, so that groups have spread.
class TrainJob : public TinyRuns {
 protected:
  TrainJob() : TinyRuns(tiny_job("threads = 1\nsteps = 4\ncheckpoint_every = 2", "[eval]\nsamples = 8")) {}
};

bool is_time(const std::string& name) {
  return name == "step_time" || name.starts_with("perf/") || name == "rollout/generated_tokens_per_s" ||
         name == "seconds";
}

/// Metrics without times.
std::vector<OrderedJson> values_of(const fs::path& file) {
  auto lines = lines_of(file);
  for (auto& line : lines)
    for (auto it = line.begin(); it != line.end();) it = is_time(it.key()) ? line.erase(it) : std::next(it);
  return lines;
}

/// Everything that a run computed is equal.
void expect_same_run(const fs::path& a, const fs::path& b, const char* result) {
  EXPECT_EQ(values_of(a / "metrics.jsonl"), values_of(b / "metrics.jsonl"));
  EXPECT_EQ(file_text(a / result), file_text(b / result)) << result;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(a / "completions")) {
    EXPECT_EQ(file_text(entry.path()), file_text(b / "completions" / entry.path().filename()))
        << entry.path();
    ++files;
  }
  EXPECT_EQ(files, std::distance(fs::directory_iterator(b / "completions"), {}));
}

constexpr const char* kAdapter = "adapter/adapter_model.safetensors";
constexpr const char* kModel = "model/model.safetensors";

TEST_F(TrainJob, WritesEverythingThatItPromises) {
  const fs::path path = run("one", {{"eval.every", "2"}});
  for (const char* name :
       {"job.toml", "metrics.jsonl", "evaluations.jsonl", "completions/step-00000004.jsonl",
        "checkpoints/step-00000004/trainer.safetensors", "adapter/adapter_config.json", kAdapter})
    EXPECT_TRUE(fs::exists(path / name)) << name;
  const auto lines = lines_of(path / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 4U);
  for (const char* name : {"num_tokens", "reward", "reward_std", "policy_loss", "grad_norm", "lr", "ratio",
                           "rewards/regex/mean", "sampling/logp_difference/mean", "perf/train_s"})
    EXPECT_TRUE(lines[0].contains(name)) << name;
  for (const auto& [name, value] : lines[0].items())
    EXPECT_TRUE(name == "step" || metrics::is_metric(name)) << name;
  EXPECT_EQ(lines_of(path / "evaluations.jsonl").size(), 3U);  // before the first step, after 2 and 4
  EXPECT_EQ(lines_of(path / "completions/step-00000001.jsonl").size(), 8U);
  EXPECT_GT(lines[0]["reward_std"].get<double>(), 0) << "the reward of this test must have spread";
}

TEST_F(TrainJob, OneSeedGivesOneRun) {
  expect_same_run(run("a"), run("b"), kAdapter);
  const auto other = run("c", {{"run.seed", "1"}});
  EXPECT_NE(file_text(folder("a") / kAdapter), file_text(other / kAdapter));
}

TEST_F(TrainJob, ResumedRunsEqualUninterruptedOnes) {
  const fs::path whole = run("whole", {{"run.steps", "6"}});
  run("cut", {{"run.steps", "3"}, {"run.checkpoint_every", "1"}, {"run.keep_checkpoints", "0"}});
  run("cut", {{"run.steps", "6"}}, OnExisting::resume);
  expect_same_run(whole, folder("cut"), kAdapter);
}

// What a killed process leaves: a torn line, completions beyond the checkpoint, half of a checkpoint.
TEST_F(TrainJob, ResumesAfterADeathAtAnyMoment) {
  const fs::path whole = run("whole"), cut = run("cut");
  fs::resize_file(cut / "metrics.jsonl", fs::file_size(cut / "metrics.jsonl") - 20);
  fs::resize_file(cut / "checkpoints/step-00000004/trainer.safetensors", 100);
  scratch_.write("runs/cut/checkpoints/.saving-step-00000005/half", "x");
  fs::remove_all(cut / "adapter");
  run("cut", {}, OnExisting::resume);
  expect_same_run(whole, cut, kAdapter);
  EXPECT_FALSE(fs::exists(cut / "checkpoints/.saving-step-00000005"));

  fs::remove_all(cut / "checkpoints");  // killed before the first checkpoint: it starts over
  run("cut", {}, OnExisting::resume);
  expect_same_run(whole, cut, kAdapter);
}

// LoRA counted twice after a resume [ms-swift 8233], or overwritten by stale masters [miles 2572]: with a KL
// and a starting adapter that is not zero, the resumed run still equals the other.
TEST_F(TrainJob, Fault11_Fault19_AdaptersAreResumedOnce) {
  run("start");
  const config::Overrides job = {{"model.adapter", (folder("start") / "adapter").string()},
                                 {"grpo.beta", "0.1"}};
  auto with_steps = [&](const char* steps) {
    config::Overrides all = job;
    all.emplace_back("run.steps", steps);
    return all;
  };
  const fs::path whole = run("whole", with_steps("4"));
  run("cut", with_steps("2"));
  run("cut", with_steps("4"), OnExisting::resume);
  expect_same_run(whole, folder("cut"), kAdapter);
}

// The KL reference is the base, not the starting adapter [trl 3194].
TEST_F(TrainJob, Fault20_TheReferenceIsTheStartingAdapter) {
  run("start");
  const config::Overrides job = {{"model.adapter", (folder("start") / "adapter").string()},
                                 {"grpo.beta", "0.1"}};
  const auto lines = lines_of(run("next", job) / "metrics.jsonl");
  EXPECT_NEAR(lines.front()["kl"].get<double>(), 0, 1e-9);  // at the start the policy is its reference
  EXPECT_GT(lines.back()["kl"].get<double>(), 1e-6);
}

TEST_F(TrainJob, FullFineTuningResumesToo) {
  const config::Overrides full = {
      {"lora.enabled", "false"}, {"train.learning_rate", "1e-3"}, {"train.minibatches", "2"}};
  auto with_steps = [&](const char* steps) {
    config::Overrides all = full;
    all.emplace_back("run.steps", steps);
    return all;
  };
  const fs::path whole = run("whole", with_steps("4"));
  EXPECT_TRUE(fs::exists(whole / "model/config.json"));
  EXPECT_NE(file_text(whole / kModel), file_text(scratch_.path() / "tiny/model.safetensors"));
  run("cut", with_steps("2"));
  run("cut", with_steps("4"), OnExisting::resume);
  expect_same_run(whole, folder("cut"), kModel);
}

// Sampler log-probs ignore the temperature [trl 4159], and the gap between trainer and sampler grows at
// learning rate 0 [open-instruct 1473]: it stays within 1e-4, in the first step and in the last.
TEST_F(TrainJob, Fault22_Fault25_TrainerAndSamplerAgree) {
  for (const char* rate : {"0", "1e-2"}) {
    const auto path =
        run(std::string("soak") + rate,
            {{"run.steps", "20"}, {"train.learning_rate", rate}, {"generation.temperature", "0.7"}});
    double largest = 0;
    for (const auto& line : lines_of(path / "metrics.jsonl"))
      if (line.contains("sampling/logp_difference/mean"))
        largest = std::max(largest, line["sampling/logp_difference/mean"].get<double>());
    EXPECT_LE(largest, 1e-4);
  }
}

// All completions truncated: a finite zero, not NaN [trl 3248].
TEST_F(TrainJob, Fault34_NothingToTrainIsAFiniteZero) {
  const auto path = run("masked", {{"grpo.mask_truncated", "true"}, {"generation.max_new_tokens", "1"}});
  for (const auto& line : lines_of(path / "metrics.jsonl")) {
    EXPECT_EQ(line["policy_loss"], 0.0);
    EXPECT_EQ(line["grad_norm"], 0.0);
  }
}

/// What a run says on standard error.
std::string said(const std::function<void()>& run) {
  ::testing::internal::CaptureStderr();
  run();
  return ::testing::internal::GetCapturedStderr();
}

int64_t count(const std::string& text, const std::string& part) {
  int64_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

// top-p or top-k bias the ratio [trl 6789]: said once.
TEST_F(TrainJob, Fault23_CutDistributionsAreWarnedOfOnce) {
  EXPECT_EQ(count(said([&] { run("cut", {{"generation.top_p", "0.9"}}); }), "top_p"), 1);
  EXPECT_EQ(count(said([&] { run("whole"); }), "top_p"), 0);
}

// No spread inside groups confuses [trl 3857]: counted in each step and said once.
TEST_F(TrainJob, Fault38_StepsThatTeachNothingAreWarnedOf) {
  const std::string text = said([&] { run("flat", {{"reward.0.pattern", "a^"}}); });
  EXPECT_EQ(count(text, "frac_reward_zero_std"), 1);
  for (const auto& line : lines_of(folder("flat") / "metrics.jsonl"))
    EXPECT_EQ(line["frac_reward_zero_std"], 1.0);
}

// An over-long prompt crashes [trl 3180]: with data.skip_long_prompts the run goes on and says how many.
TEST_F(TrainJob, Fault32_SkippedPromptsAreCounted) {
  scratch_.write("data.jsonl", "{\"prompt\": \"a b c d e f g h i j k l m n o p\"}\n{\"prompt\": \"a\"}\n");
  const config::Overrides job = {{"data.task", ""},
                                 {"data.file", (scratch_.path() / "data.jsonl").string()},
                                 {"data.max_prompt_tokens", "4"}};
  EXPECT_THAT(try_run("refused", job).error().message, HasSubstr("data.jsonl:1: the prompt has"));
  auto skipping = job;
  skipping.emplace_back("data.skip_long_prompts", "true");
  EXPECT_THAT(said([&] { run("skipped", skipping); }), HasSubstr("over-long prompts skipped"));
}

TEST_F(TrainJob, ResamplingReplacesGroupsWithoutSpread) {
  const config::Overrides rare = {{"reward.0.pattern", "w|k"}, {"run.steps", "3"}};
  auto resampled = rare;
  resampled.emplace_back("grpo.resample_rounds", "200");
  double without = 0;
  for (const auto& line : lines_of(run("plain", rare) / "metrics.jsonl"))
    without += line["frac_reward_zero_std"].get<double>();
  const auto with = lines_of(run("resampled", resampled) / "metrics.jsonl");
  EXPECT_GT(without, 0);
  for (const auto& line : with) EXPECT_EQ(line["frac_reward_zero_std"], 0.0);
}

TEST_F(TrainJob, ComputesInThePrecisionOfItsJob) {
  run("highest", {{"run.matmul_precision", "highest"}});
  EXPECT_EQ(ops::matmul_precision(), kernels::Precision::highest);
  run("default", {});
  EXPECT_EQ(ops::matmul_precision(), kernels::Precision::high);
}

TEST_F(TrainJob, AnotherJobIsNotResumed) {
  run("one", {{"run.steps", "1"}});
  EXPECT_THAT(try_run("one", {}).error().message, HasSubstr("--resume"));
  const auto other = try_run("one", {{"train.learning_rate", "0.5"}}, OnExisting::resume);
  EXPECT_THAT(other.error().message, HasSubstr("train.learning_rate: 0.5, was 0.01"));
  write_tiny_model(scratch_.path() / "tiny", 2);
  EXPECT_THAT(try_run("one", {}, OnExisting::resume).error().message,
              HasSubstr("its base model was another one"));
}

TEST_F(TrainJob, WhatCannotStartLeavesNoRun) {
  struct Case {
    const char* key;
    std::string value;
    const char* message;
  };
  for (const auto& c : {Case{"model.path", "/nowhere", "/nowhere"}, Case{"data.task", "algebra", "algebra"},
                        Case{"reward.0.pattern", "(", "[[reward]] 0"},
                        Case{"generation.max_new_tokens", "128", "leaves no room"},
                        Case{"lora.target_modules", "query", "query"}}) {
    const auto outcome = try_run("bad", {{c.key, c.value}});
    ASSERT_FALSE(outcome) << c.key;
    EXPECT_THAT(outcome.error().message, HasSubstr(c.message)) << c.key;
  }
  EXPECT_TRUE(try_run("bad", {{"run.steps", "1"}}));  // no --overwrite needed
}

TEST_F(TrainJob, ARewardThatFailsEndsTheRunWithItsName) {
  const auto outcome = try_run("bad", {{"reward.0.kind", "command"},
                                       {"reward.0.name", "broken"},
                                       {"reward.0.command", "sh,-c,echo oops >&2; exit 3"}});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("broken"));
  EXPECT_THAT(outcome.error().message, HasSubstr("oops"));
}

TEST_F(TrainJob, EvaluationOfAJobAndOfARun) {
  const fs::path path = run("one", {{"eval.every", "4"}});
  const auto before = evaluate(EvalCommand{scratch_.path() / "job.toml", {}, {}});
  const auto after = evaluate(EvalCommand{path, {}, {}});
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->samples, 8);
  // The run's own evaluations saw the same prompts and weights.
  const auto lines = lines_of(path / "evaluations.jsonl");
  EXPECT_EQ(lines.front()["accuracy"], before->accuracy.value);
  EXPECT_EQ(lines.back()["accuracy"], after->accuracy.value);
  EXPECT_EQ(lines.back()["mean_length"], after->mean_length);
  EXPECT_FALSE(evaluate(EvalCommand{scratch_.path() / "runs", {}, {}}));
}

}  // namespace
}  // namespace nereus::runtime
