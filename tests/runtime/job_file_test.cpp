#include "nereus/runtime/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/runtime/job_keys.h"
#include "nereus/runtime/reference_page.h"
#include "tests/runtime/tiny_model.h"

namespace nereus::runtime {
namespace {

using config::Overrides;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kJob = R"([model]
path = "models/tiny"
[data]
task = "addition"
[[reward]]
kind = "number_match"
)";

Result<Job> parse(const std::string& text, const Overrides& overrides = {}) {
  return parse_job(text, "folder/sums.toml", "/jobs/folder", overrides);
}

std::string error_of(const std::string& text, const Overrides& overrides = {}) {
  const auto job = parse(text, overrides);
  return job ? "" : job.error().message;
}

TEST(JobFile, DefaultsAndNames) {
  const auto job = parse(kJob);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->run.name, "sums");
  EXPECT_EQ(job->model.path, "/jobs/folder/models/tiny");
  EXPECT_EQ(job->run.folder, std::filesystem::current_path() / "runs");
  EXPECT_EQ(job->rewards.size(), 1U);
  EXPECT_EQ(job->rewards[0].folder, "/jobs/folder");
  EXPECT_EQ(job->generation.completions, 8);
}

TEST(JobFile, EveryKindOfValue) {
  const std::string text = std::string(kJob) + R"(weight = -2
[run]
seed = 7
[lora]
rslora = true
target_modules = ["q_proj", "v_proj"]
[train]
learning_rate = 3e-4
schedule = "cosine"
[grpo]
epsilon_high = 0.28
aggregation = "dr_grpo"
)";
  const auto job = parse(text);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->run.seed, 7U);
  EXPECT_TRUE(job->lora.options.rslora);
  EXPECT_THAT(job->lora.options.target_modules, ElementsAre("q_proj", "v_proj"));
  EXPECT_DOUBLE_EQ(job->train.optimizer.learning_rate, 3e-4);
  EXPECT_EQ(job->train.optimizer.schedule, train::Schedule::cosine);
  EXPECT_EQ(job->train.loss.epsilon_high, 0.28);
  EXPECT_EQ(job->train.loss.aggregation, rl::Aggregation::dr_grpo);
  EXPECT_EQ(job->rewards[0].options.weight, -2);
}

TEST(JobFile, CommandLineWins) {
  const auto job = parse(kJob, {{"train.learning_rate", "1e-5"},
                                {"run.steps", "12"},
                                {"lora.enabled", "false"},
                                {"lora.target_modules", "q_proj,o_proj"},
                                {"reward.0.weight", "0.5"},
                                {"reward.1.kind", "regex"},
                                {"reward.1.pattern", "x"},
                                {"model.path", "elsewhere"}});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_DOUBLE_EQ(job->train.optimizer.learning_rate, 1e-5);
  EXPECT_EQ(job->run.steps, 12);
  EXPECT_FALSE(job->lora.enabled);
  EXPECT_THAT(job->lora.options.target_modules, ElementsAre("q_proj", "o_proj"));
  EXPECT_EQ(job->rewards[0].options.weight, 0.5);
  EXPECT_EQ(job->rewards[1].options.kind, "regex");
  EXPECT_EQ(job->model.path, std::filesystem::current_path() / "elsewhere");
}

TEST(JobFile, BadFilesNameTheLineAndWhatWasExpected) {
  struct Case {
    const char* extra;
    const char* message;
  };
  const Case cases[] = {
      {"[train]\nlearning_rat = 1\n",
       "folder/sums.toml:8: unknown key train.learning_rat; did you mean train.learning_rate?"},
      {"[run]\nlearning_rate = 1\n", "unknown key run.learning_rate; did you mean train.learning_rate?"},
      {"[zzz]\nqqqqqq = 1\n", "unknown key zzz.qqqqqq; docs/configuration.md"},
      {"wieght = 1\n", "unknown key reward.0.wieght; did you mean reward.weight?"},
      {"[run]\nsteps = \"many\"\n", "folder/sums.toml:8: run.steps: expected an integer of at least 1"},
      {"[run]\nsteps = 0\n", "run.steps: expected an integer of at least 1, found 0"},
      {"[run]\nsteps = 2.5\n", "found 2.5"},
      {"[train]\nlearning_rate = nan\n", "train.learning_rate: expected a number of at least 0, found nan"},
      {"[train]\nlearning_rate = inf\n", "found inf"},
      {"[lora]\nenabled = 1\n", "lora.enabled: expected true or false, found 1"},
      {"[lora]\ntarget_modules = [1, 2]\n", "lora.target_modules: expected a list of strings"},
      {"[generation]\ndtype = \"f16\"\n",
       "generation.dtype: expected one of \"f32\" \"bf16\", found \"f16\""},
      {"[generation]\nmax_new_tokens = 3000000000\n", "generation.max_new_tokens: expected an integer"},
      {"[run]\nsteps = 1979-05-27\n", "dates and times are not used"},
      {"[run]\nsteps = = 1\n", "folder/sums.toml:8:"},
      {"[run]\nname = \"a/b\"\n", "run.name: expected the name of a folder"},
      {"[generation]\ncompletions = 1\n", "generation.completions"},
      {"[train]\nminibatches = 9\n", "train.minibatches = 9 is more than the groups of a step"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(error_of(std::string(kJob) + c.extra), HasSubstr(c.message)) << c.extra;
}

TEST(JobFile, WhatIsMissingOrExcludesAnother) {
  EXPECT_THAT(error_of(""), HasSubstr("model.path is missing"));
  EXPECT_THAT(error_of("[model]\npath = \"m\"\n"), HasSubstr("expected either file or task, found neither"));
  EXPECT_THAT(error_of(std::string(kJob) + "[data2]\nx = 1\n"), HasSubstr("unknown key"));
  EXPECT_THAT(error_of(kJob, {{"data.file", "x.jsonl"}}), HasSubstr("found both"));
  EXPECT_THAT(error_of("[model]\npath = \"m\"\n[data]\nfile = \"f\"\n"),
              HasSubstr("at least one [[reward]]"));
  EXPECT_THAT(error_of(kJob, {{"lora.enabled", "false"}, {"model.adapter", "a"}}),
              HasSubstr("model.adapter"));
  EXPECT_THAT(error_of(kJob, {{"run.steps", "x"}}), HasSubstr("--run.steps: run.steps: expected an integer"));
  EXPECT_THAT(error_of(kJob, {{"reward.3.weight", "1"}}),
              HasSubstr("there are 1 [[reward]], counted from 0"));
  EXPECT_THAT(read_job("/nowhere/job.toml", {}).error().message, HasSubstr("/nowhere/job.toml"));
}

TEST(JobFile, WrittenBackReadsAsTheSameJob) {
  const auto job = parse(kJob, {{"grpo.delta", "4.5"},
                                {"data.system", "a \"quoted\"\\ line\nand \t\x01 more é"},
                                {"generation.stop", "[\"a,b\", \"\\n\"]"},
                                {"generation.temperature", "0.7"},
                                {"reward.0.name", "sum"}});
  ASSERT_TRUE(job) << job.error().message;
  for (const bool documented : {false, true}) {
    const std::string text = job_text(*job, documented);
    const auto again = parse_job(text, "elsewhere.toml", "/other", {});
    ASSERT_TRUE(again) << again.error().message << "\n" << text;
    EXPECT_THAT(differences(*again, *job), ElementsAre());
    EXPECT_EQ(job_text(*again, documented), text);
  }
  EXPECT_THAT(job_text(*job), HasSubstr("temperature = 0.7\n"));
}

TEST(JobFile, DifferencesNameKeyAndValues) {
  auto a = parse(kJob), b = parse(kJob, {{"train.learning_rate", "0.5"}, {"reward.0.weight", "2"}});
  ASSERT_TRUE(a && b);
  EXPECT_THAT(differences(*b, *a), ElementsAre("train.learning_rate: 0.5, was 1e-05",
                                               "[[reward]] 0: reward.weight: 2.0, was 1.0"));
}

TEST(JobFile, EveryKeyCanBeReadBackFromItsText) {
  // A key whose accessor or kind is wrong would not survive its own default.
  Job job;
  const auto keys = job_keys();
  for (const auto& key : keys.keys())
    if (const auto value = key.get(job)) {
      EXPECT_TRUE(key.set(job, *value)) << key.name << " refuses its default " << config::to_toml(*value);
    }
}

// The list of keys is frozen: a key that goes or is renamed breaks people's job files.
TEST(JobFile, ListOfKeys) {
  std::string names;
  for (const auto& name : job_schema().names()) names += name + "\n";
  EXPECT_EQ(names, file_text(std::filesystem::path(NEREUS_SOURCE_DIR) / "tests/runtime/keys.txt"));
}

TEST(JobFile, ReferencePageIsUpToDate) {
  EXPECT_EQ(file_text(std::filesystem::path(NEREUS_SOURCE_DIR) / "docs/configuration.md"), reference_page())
      << "run: build/release/nereus train --print-reference > docs/configuration.md";
}

// Job files that people copy are read without a model at hand.
TEST(JobFile, Examples) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(NEREUS_SOURCE_DIR) / "examples")) {
    // Planner jobs and simulated worlds are read by tests of their own.
    if (entry.path().extension() != ".toml" || file_text(entry.path()).find("[model]") == std::string::npos)
      continue;
    const auto job = read_job(entry.path(), {});
    EXPECT_TRUE(job) << job.error().message;
    ++count;
  }
  EXPECT_GE(count, 3);
}

}  // namespace
}  // namespace nereus::runtime
