#include "nereus/runtime/model_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "nereus/base/json.h"
#include "nereus/runtime/generate_job.h"
#include "nereus/runtime/train_job.h"
#include "tests/runtime/tiny_model.h"

namespace nereus::runtime {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ModelJobs : public ::testing::Test {
 protected:
  void SetUp() override { write_tiny_model(model_); }
  std::string generated(GenerateCommand command) {
    command.model = command.model.empty() ? model_ : command.model;
    command.sampling.max_new_tokens = 8;
    std::ostringstream out;
    const auto status = generate(command, out);
    EXPECT_TRUE(status) << status.error().message;
    return out.str();
  }
  ScratchFolder scratch_;
  fs::path model_ = scratch_.path() / "tiny";
};

TEST_F(ModelJobs, InitWritesAModelThatSamples) {
  InitCommand command;
  command.folder = scratch_.path() / "new";
  command.tokenizer_from = model_;
  const auto status = init_model(command);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_FALSE(generated({.model = command.folder, .prompt = "hi"}).empty());
  EXPECT_THAT(init_model(command).error().message, HasSubstr("holds a model already"));
  command.folder = scratch_.path() / "other";
  command.kv_heads = 3;
  EXPECT_THAT(init_model(command).error().message, HasSubstr("--kv-heads 3"));
}

TEST_F(ModelJobs, ConvertAndInspect) {
  ConvertCommand command;
  command.from = model_;
  command.to = scratch_.path() / "half";
  command.dtype = "bf16";
  ASSERT_TRUE(convert_model(command));
  std::ostringstream out;
  ASSERT_TRUE(inspect_model({command.to, true, true}, out));
  const auto json = Json::parse(out.str());
  EXPECT_EQ(json["config"]["hidden_size"], 32);
  EXPECT_EQ(json["types"]["BF16"]["tensors"], json["tensors"].size());
  EXPECT_THAT(convert_model(command).error().message, HasSubstr("holds a model already"));
  command.dtype = "int3";
  EXPECT_THAT(convert_model(command).error().message, HasSubstr("int3"));
  std::ostringstream text;
  EXPECT_THAT(inspect_model({scratch_.path() / "nothing", false, false}, text).error().message,
              HasSubstr("nothing"));
}

TEST_F(ModelJobs, AMergedAdapterAnswersAsTheAdapterDoes) {
  scratch_.write("job.toml", R"([run]
folder = "."
steps = 2
[model]
path = "tiny"
[data]
task = "addition"
[[reward]]
kind = "regex"
pattern = "e"
[generation]
max_new_tokens = 6
[train]
learning_rate = 0.05
)");
  ASSERT_TRUE(train({scratch_.path() / "job.toml", {{"run.name", "run"}}, OnExisting::refuse}));
  ConvertCommand merge;
  merge.from = model_;
  merge.adapter = scratch_.path() / "run/adapter";
  merge.to = scratch_.path() / "merged";
  ASSERT_TRUE(convert_model(merge));
  rollout::SamplingOptions greedy;
  greedy.temperature = 0;
  const std::string base = generated({.prompt = "hello", .sampling = greedy});
  const std::string adapter = generated({.adapter = merge.adapter, .prompt = "hello", .sampling = greedy});
  const std::string merged = generated({.model = merge.to, .prompt = "hello", .sampling = greedy});
  EXPECT_NE(base, adapter) << "the adapter must change this answer for the test to mean something";
  EXPECT_EQ(adapter, merged);
}

TEST_F(ModelJobs, GenerateManyEqualsGenerateOne) {
  const auto file = scratch_.write("p.jsonl", R"({"messages": [{"role": "user", "content": "hello"}]}
{"prompt": "raw text"}
)");
  rollout::SamplingOptions greedy;
  greedy.temperature = 0;
  std::istringstream lines(generated({.jsonl = file, .completions = 2, .sampling = greedy}));
  std::vector<Json> answers;
  for (std::string line; std::getline(lines, line);) answers.push_back(Json::parse(line));
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0]["completions"].size(), 2U);
  EXPECT_EQ(answers[0]["completions"][0]["text"].get<std::string>() + "\n",
            generated({.prompt = "hello", .sampling = greedy}));
  EXPECT_EQ(answers[1]["completions"][0]["text"].get<std::string>() + "\n",
            generated({.prompt = "raw text", .raw = true, .sampling = greedy}));
  EXPECT_THAT(generated({.prompt = "hello", .completions = 2}), HasSubstr("--- 2 ---"));
}

}  // namespace
}  // namespace nereus::runtime
