#include "nereus/plan/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/config/text_file.h"
#include "tests/plan/scratch.h"

namespace nereus::plan {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kPpo = R"([job]
algorithm = "ppo"
prompts = 64
completions = 4
minibatches = 2
dtype = "bf16"
gradient_dtype = "bf16"
reward_seconds = 1.5
[actor]
model = "llama-3-8b"
lora_rank = 16
[critic]
model = "qwen2.5-0.5b"
[reference]
model = "llama-3-8b"
[reward]
model = "qwen2.5-7b"
[lengths]
prompt = 300
mean_response = 500
variation = 0.5
max_response = 2000
)";
constexpr const char* kGrpo = "[actor]\nmodel = \"llama-3-8b\"\n";

Result<Job> parse(const std::string& text, const config::Overrides& overrides = {}) {
  return parse_job(text, "j.toml", "/jobs", overrides);
}

std::string error_of(const std::string& text, const config::Overrides& overrides = {}) {
  const auto job = parse(text, overrides);
  return job ? "" : job.error().message;
}

TEST(PlanJobFile, ReadsEveryModel) {
  const auto job = parse(kPpo);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->prompts, 64);
  EXPECT_EQ(job->completions, 4);
  EXPECT_EQ(job->minibatches, 2);
  EXPECT_EQ(job->weight_bytes, 2);
  EXPECT_EQ(job->gradient_bytes, 2);
  EXPECT_EQ(job->reward_seconds, 1.5);
  ASSERT_EQ(job->models.size(), 4U);
  EXPECT_EQ(job->find(Role::actor)->config.hidden, 4096);
  EXPECT_EQ(job->find(Role::actor)->lora_rank, 16);
  EXPECT_EQ(job->find(Role::critic)->config.hidden, 896);
  EXPECT_EQ(job->find(Role::reference)->config.hidden, 4096);
  EXPECT_EQ(job->find(Role::reward)->config.hidden, 3584);
  EXPECT_EQ(job->lengths.prompt, 300);
  EXPECT_EQ(job->lengths.max_response, 2000);
  EXPECT_NEAR(job->lengths.mean_response(), 500, 10);
}

TEST(PlanJobFile, DefaultsAreDocumentedOnes) {
  const auto job = parse(kGrpo);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->models.size(), 1U);
  EXPECT_EQ(job->samples(), 1024);
  EXPECT_EQ(job->lengths.prompt, 512);
  EXPECT_EQ(job->lengths.max_response, 4096);
  EXPECT_NEAR(job->lengths.mean_response(), 1024, 50);
}

TEST(PlanJobFile, BadFilesNameLineKeyAndWhatWasExpected) {
  struct Case {
    std::string text;
    const char* message;
  };
  const std::string grpo = kGrpo, ppo = kPpo;
  const Case cases[] = {
      {"", "j.toml: actor.model is missing: expected a model"},
      {"[actor]\nlora_rank = 8\n", "j.toml:2: actor.model is missing"},
      {"[actor]\nmodel = \"llama-3-8\"\n",
       "j.toml:2: actor.model: there is no model of this name and no file /jobs/llama-3-8; did you mean "
       "\"llama-3-8b\"?"},
      {"[actor]\nmodel = \"models/mistral-large\"\n",
       "no file /jobs/models/mistral-large; known are llama-3-8b, "},
      {"[actor]\nmodle = \"llama-3-8b\"\n", "j.toml:2: unknown key actor.modle; did you mean actor.model?"},
      {grpo + "[jobs]\nprompts = 3\n", "j.toml:4: unknown key jobs.prompts; did you mean job.prompts?"},
      {grpo + "[job]\nalgorithm = \"dpo\"\n",
       "j.toml:4: job.algorithm: expected one of \"grpo\" \"ppo\", found \"dpo\""},
      {grpo + "[job]\nalgorithm = \"ppo\"\n", "j.toml:4: critic.model is missing: ppo trains a critic"},
      {grpo + "[critic]\nmodel = \"llama-3-8b\"\n", "j.toml:4: critic.model: grpo has no critic"},
      {grpo + "[job]\ncompletions = 1\n", "j.toml:4: job.completions = 1: grpo compares"},
      {grpo + "[job]\nprompts = 0\n", "j.toml:4: job.prompts: expected an integer from 1 to"},
      {grpo + "[job]\nminibatches = 5000\n",
       "j.toml:4: job.minibatches = 5000 is more than the 1024 completions"},
      {grpo + "[job]\ndtype = \"fp8\"\n",
       "j.toml:4: job.dtype: expected one of \"bf16\" \"f32\", found \"fp8\""},
      {grpo + "[job]\nutilization = 1.5\n", "j.toml:4: job.utilization: expected a number from 0.1 to 1"},
      {grpo + "[lengths]\nmean_response = 5000\n",
       "j.toml:4: lengths.mean_response = 5000 exceeds lengths.max_response = 4096"},
      {grpo + "[lengths]\nmax_response = 8000\n",
       "j.toml:4: lengths: a prompt of 512 and a response of 8000 tokens exceed the actor's context of 8192"},
      {grpo + "[lengths]\nprompt = 0\n", "j.toml:4: lengths.prompt: expected an integer from 1"},
      {grpo + "[lengths]\nfile = \"none.txt\"\n", "j.toml:4: lengths.file: /jobs/none.txt: cannot open"},
      {grpo + "[lengths]\nfile = \"none.txt\"\nvariation = 1\n",
       "j.toml:5: lengths.variation is that of the file"},
      {"[reference]\nlora_rank = 3\n", "j.toml:2: unknown key reference.lora_rank"},
      {"[actor]\nmodel = 8\n", "j.toml:2: actor.model: expected a string, found 8"},
      {"model = \n", "j.toml:1: "},
  };
  for (const auto& c : cases) EXPECT_THAT(error_of(c.text), HasSubstr(c.message)) << c.text;
  EXPECT_THAT(read_job("/nowhere/j.toml").error().message, HasSubstr("/nowhere/j.toml: cannot open"));
}

TEST(PlanJobFile, OverridesAreSetAfterTheFile) {
  const auto job =
      parse(kPpo, {{"lengths.mean_response", "1500"}, {"job.prompts", "10"}, {"reward.model", ""}});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->prompts, 10);
  EXPECT_EQ(job->find(Role::reward), nullptr);
  EXPECT_GT(job->lengths.mean_response(), 1200);  // the tail is cut at 2000
  EXPECT_THAT(error_of(kPpo, {{"actor.model", "llama-3-9b"}}),
              HasSubstr("--actor.model: actor.model: there is no"));
  EXPECT_THAT(error_of(kPpo, {{"lengths.maen", "1"}}), HasSubstr("--lengths.maen: unknown key"));
}

// Models of other shapes than the known ones come from their config.json, by file or by folder.
TEST(PlanJobFile, ReadsConfigJson) {
  const Scratch scratch;
  scratch.write("m/config.json", R"({"model_type": "llama", "vocab_size": 1000, "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 8192, "eos_token_id": 2})");
  for (const char* model : {"m", "m/config.json"}) {
    const auto file = scratch.write("j.toml", fmt::format("[actor]\nmodel = \"{}\"\n", model));
    const auto job = read_job(file);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job->models[0].config.layers, 3);
  }
  scratch.write("m/config.json", "{\"model_type\": \"llama\"}");
  const auto bad = read_job(scratch.path() / "j.toml");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("j.toml:2: actor.model: "));
  EXPECT_THAT(bad.error().message, HasSubstr("m/config.json: key 'vocab_size'"));
  fs::remove(scratch.path() / "m/config.json");
  EXPECT_THAT(read_job(scratch.path() / "j.toml").error().message, HasSubstr("m/config.json"));
}

TEST(PlanJobFile, LengthsFromAFile) {
  const Scratch scratch;
  scratch.write("l.txt", "# observed\n300\n100\r\n\n200\n9000\n");
  const auto file = scratch.write("j.toml", std::string(kGrpo) + "[lengths]\nfile = \"l.txt\"\n");
  const auto job = read_job(file);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->lengths.responses, (std::vector<int32_t>{100, 200, 300, 4096}));  // the last is cut
  const auto scaled = read_job(file, {{"lengths.mean_response", "240"}});
  ASSERT_TRUE(scaled) << scaled.error().message;
  EXPECT_EQ(scaled->lengths.responses, (std::vector<int32_t>{10, 20, 30, 900}));  // a tenth of each
  scratch.write("l.txt", "100\n2x0\n");
  EXPECT_THAT(read_job(file).error().message, HasSubstr("j.toml:4: lengths.file: "));
}

// Planner jobs that people copy.
TEST(PlanJobFile, Examples) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(NEREUS_SOURCE_DIR "/examples")) {
    if (!entry.path().filename().string().starts_with("plan-")) continue;
    const auto job = read_job(entry.path());
    EXPECT_TRUE(job) << job.error().message;
    ++count;
  }
  EXPECT_GE(count, 3);
}

// The page has every key: it is regenerated by `nereus plan --print-reference`.
TEST(PlanJobFile, ThePageHasEveryKey) {
  const auto page = config::read_text_file(NEREUS_SOURCE_DIR "/docs/cluster-files.md");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(*page, HasSubstr(job_reference()));
}

}  // namespace
}  // namespace nereus::plan
