#include "nereus/runtime/prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/runtime/sampling.h"
#include "nereus/tasks/jsonl_dataset.h"
#include "tests/runtime/tiny_model.h"

namespace nereus::runtime {
namespace {

using ::testing::HasSubstr;

class Prompts : public ::testing::Test {
 protected:
  void SetUp() override {
    write_tiny_model(scratch_.path() / "tiny");
    tokenizer_.emplace(value_or_throw(text::Tokenizer::load(scratch_.path() / "tiny")));
    encoder_.emplace(value_or_throw(text::PromptEncoder::make(*tokenizer_, "")));
  }
  std::unique_ptr<tasks::Dataset> data(const std::string& lines) {
    return value_or_throw(tasks::open_jsonl_dataset(scratch_.write("data.jsonl", lines)));
  }

  ScratchFolder scratch_;
  std::optional<text::Tokenizer> tokenizer_;
  std::optional<text::PromptEncoder> encoder_;
};

constexpr const char* kTwoShortOneLong = R"({"prompt": "one"}
{"prompt": "a much longer prompt that goes on and on and on and on and on and on and on and on"}
{"prompt": "two"}
)";

// An over-long prompt crashes [trl 3180]: it is refused, with its place, or skipped and counted.
TEST_F(Prompts, Fault32_OverlongPromptsAreRefusedOrSkipped) {
  const auto set = data(kTwoShortOneLong);
  PromptStream strict(*set, *encoder_, {.shuffle = false, .max_tokens = 8});
  const auto refused = strict.take(3);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("data.jsonl:2: the prompt has"));
  PromptStream lenient(*set, *encoder_, {.shuffle = false, .max_tokens = 8, .skip_long = true});
  const auto taken = lenient.take(4);
  ASSERT_TRUE(taken);
  EXPECT_EQ((*taken)[1].sample.prompt, "two");
  EXPECT_EQ((*taken)[1].id, 2U);  // its number in the stream, so that random draws do not shift
  EXPECT_EQ(lenient.skipped(), 2);
  PromptStream never(*set, *encoder_, {.shuffle = false, .max_tokens = 0, .skip_long = true});
  EXPECT_THAT(never.take(1).error().message, HasSubstr("every prompt is longer"));
}

TEST_F(Prompts, AStreamGoesOnFromItsCursor) {
  const auto set = data(kTwoShortOneLong);
  const PromptStreamOptions options{.seed = 3, .max_tokens = 100};
  PromptStream whole(*set, *encoder_, options), second(*set, *encoder_, options);
  const auto all = *whole.take(10);
  second.restore(4, 1);
  const auto rest = *second.take(6);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(rest[i].id, all[i + 4].id);
    EXPECT_EQ(rest[i].tokens, all[i + 4].tokens);
  }
  EXPECT_EQ(second.cursor(), whole.cursor());
  EXPECT_EQ(second.skipped(), 1);
}

/// Emits a fixed list of tokens for each completion and remembers what it was asked.
class Script : public rollout::Generator {
 public:
  explicit Script(rollout::Tokens tokens) : tokens_(std::move(tokens)) {}
  Status submit(rollout::Request request, rollout::TokenCallback on_token) override {
    asked.push_back(request);
    rollout::Group group{request.prompt_id, request.prompt, {}};
    for (uint32_t c = 0; c < request.count; ++c) {
      rollout::Completion completion;
      completion.index = c;
      for (const int32_t token : tokens_) {
        completion.tokens.push_back(token);
        completion.logprobs.push_back(-1);
        completion.versions.push_back(0);
        if (on_token(request.prompt_id, c, token, -1)) continue;
        completion.finish = rollout::Finish::stop;
        break;
      }
      group.completions.push_back(completion);
    }
    done_.push_back(group);
    return {};
  }
  void cancel(uint64_t) override {}
  Result<std::vector<rollout::Group>> step() override { return std::exchange(done_, {}); }
  bool idle() const override { return done_.empty(); }
  int64_t version() const override { return 0; }

  std::vector<rollout::Request> asked;

 private:
  rollout::Tokens tokens_;
  std::vector<rollout::Group> done_;
};

// Decoding and encoding again changes ids [trl 5224]: what was sampled is what is trained, token by token.
TEST_F(Prompts, Fault26_SampledIdsAreNeverEncodedAgain) {
  // "a" and "b" apart would be one token, if encoded again.
  const auto a = tokenizer_->encode("t", false), b = tokenizer_->encode("h", false);
  ASSERT_EQ(a.size() + b.size(), 2U);
  ASSERT_EQ(tokenizer_->encode("th", false).size(), 1U) << "the tokenizer must merge these for this test";
  Script script({a[0], b[0]});
  const auto groups = sample(script, {{5, {}, {1, 2}}}, {{}, {}, 2, 0}, *tokenizer_);
  ASSERT_TRUE(groups) << groups.error().message;
  EXPECT_EQ((*groups)[0].prompt, (rollout::Tokens{1, 2}));
  for (const auto& completion : (*groups)[0].completions) {
    EXPECT_EQ(completion.tokens, (rollout::Tokens{a[0], b[0]}));
    EXPECT_EQ(completion_text(completion, *tokenizer_, {}), "th");
  }
}

TEST_F(Prompts, StopStringsEndACompletionAndAreNotInItsText) {
  Script script(tokenizer_->encode("the sum is 4.\nAnd then more", false));
  SamplePlan plan{{}, {".\n"}, 3, 0};
  const auto groups = sample(script, {{1, {}, {1}}}, plan, *tokenizer_);
  ASSERT_TRUE(groups);
  for (const auto& completion : (*groups)[0].completions) {
    EXPECT_EQ(completion.finish, rollout::Finish::stop);
    EXPECT_EQ(completion_text(completion, *tokenizer_, plan.stops), "the sum is 4");
  }
}

// One of several end-of-sequence ids is honoured [trl 7039]: all are, from the model's and the tokenizer's
// files.
TEST_F(Prompts, Fault30_EveryEndOfSequenceIdStops) {
  spec::ModelConfig config;
  config.eos_ids = {7, 9};
  rollout::SamplingOptions sampling;
  add_stop_ids(sampling, config, *tokenizer_, {"<|endoftext|>", "plain text"});
  EXPECT_THAT(sampling.stop_ids, ::testing::ElementsAre(7, 9, 1001, 1002));
}

}  // namespace
}  // namespace nereus::runtime
