#include "nereus/serving/completion_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::serving {
namespace {

using testing::HasSubstr;

const RequestLimits kLimits{.vocab_size = 1000};

Result<CompletionRequest> read(OrderedJson body, bool chat = false) {
  if (chat && !body.contains("messages")) body["messages"] = {{{"role", "user"}, {"content", "a"}}};
  if (!chat && !body.contains("prompt")) body["prompt"] = "a";
  return read_completion_request(body, chat, kLimits);
}

TEST(CompletionRequest, NothingAskedGetsTheDefaults) {
  for (const char* key :
       {"max_tokens", "temperature", "n", "seed", "stop", "stream", "stream_options", "logprobs", "tools",
        "chat_template_kwargs", "presence_penalty", "echo", "response_format", "best_of", "prompt_logprobs",
        "skip_special_tokens", "return_token_ids", "model"})
    for (const bool chat : {false, true}) {
      const auto request = read({{key, nullptr}}, chat);
      ASSERT_TRUE(request) << request.error().message;
      EXPECT_EQ(request->sampling.max_new_tokens, chat ? 1024 : 16);
      EXPECT_EQ(request->sampling.temperature, 1);
      EXPECT_EQ(request->count, 1U);
      EXPECT_FALSE(request->seed || request->stream || request->logprobs || request->include_usage);
    }
}

TEST(CompletionRequest, WhatIsAsked) {
  const auto request = value_or_throw(read({{"model", "m"},
                                            {"prompt", {{1, 2}}},
                                            {"max_tokens", 5},
                                            {"temperature", 0},
                                            {"top_k", -1},
                                            {"n", 3},
                                            {"seed", -1},
                                            {"stop", {"x", "y"}},
                                            {"stop_token_ids", {7}},
                                            {"logprobs", 0},
                                            {"stream", true},
                                            {"stream_options", {{"include_usage", true}}},
                                            {"presence_penalty", 0.0},
                                            {"repetition_penalty", 1.0},
                                            {"skip_special_tokens", true},
                                            {"response_format", {{"type", "text"}}},
                                            {"best_of", 3},
                                            {"unheard_of", {1, 2}}}));
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.prompt_ids, (rollout::Tokens{1, 2}));
  EXPECT_EQ(request.sampling.max_new_tokens, 5);
  EXPECT_EQ(request.sampling.temperature, 0);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_EQ(request.count, 3U);
  EXPECT_EQ(request.seed, ~uint64_t{0});
  EXPECT_EQ(request.stop, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(request.sampling.stop_ids, rollout::Tokens{7});
  EXPECT_TRUE(request.logprobs && request.stream && request.include_usage);
}

TEST(CompletionRequest, BadOnesNameWhatIsWrong) {
  struct Case {
    OrderedJson body;
    const char* error;
  };
  const Case cases[] = {
      {{{"prompt", {1, -1}}}, "\"prompt\": expected a text or a list of token ids"},
      {{{"prompt", {1, 1000}}}, "\"prompt\": expected a text or a list of token ids below 1000"},
      {{{"prompt", 5}}, "\"prompt\": expected a text or a list of token ids"},
      {{{"prompt", nullptr}}, "\"prompt\": expected a text or a list of token ids"},
      {{{"prompt", {"a", "b"}}}, "several prompts are several requests"},
      {{{"model", 1}}, "\"model\": expected a text"},
      {{{"max_tokens", 0}}, "\"max_tokens\": expected an integer from 1"},
      {{{"max_tokens", 1.5}}, "\"max_tokens\": expected an integer"},
      {{{"max_tokens", "5"}}, "\"max_tokens\": expected an integer"},
      {{{"max_tokens", true}}, "\"max_tokens\": expected an integer"},
      {{{"temperature", -1}}, "\"temperature\": expected a number from 0"},
      {{{"temperature", "0.5"}}, "\"temperature\": expected a number"},
      {{{"top_p", 0}}, "\"top_p\": expected a number"},
      {{{"top_k", 0.5}}, "\"top_k\": expected an integer"},
      {{{"min_p", 2}}, "\"min_p\": expected a number from 0 to 1"},
      {{{"n", 1000}}, "\"n\": expected an integer from 1 to 128"},
      {{{"seed", "x"}}, "\"seed\": expected an integer"},
      {{{"prompt_id", 0.5}}, "\"prompt_id\": expected an integer"},
      {{{"stop", 1}}, "\"stop\": expected a text or a list"},
      {{{"stop", {1}}}, "\"stop\": expected a text or a list"},
      {{{"stop_token_ids", 1}}, "\"stop_token_ids\": expected a list of token ids"},
      {{{"stop_token_ids", {"a"}}}, "\"stop_token_ids\": expected a list of token ids"},
      {{{"ignore_eos", 1}}, "\"ignore_eos\": expected true or false"},
      {{{"logprobs", "yes"}}, "\"logprobs\": expected a number"},
      {{{"top_logprobs", true}}, "\"top_logprobs\": expected an integer"},
      {{{"return_token_ids", 1}}, "\"return_token_ids\": expected true or false"},
      {{{"stream", "yes"}}, "\"stream\": expected true or false"},
      {{{"stream_options", true}}, "\"stream_options\": expected an object"},
      {{{"stream_options", {{"include_usage", 1}}}},
       "\"stream_options\": \"include_usage\": expected true or false"},
      {{{"echo", true}}, "\"echo\": only false is supported"},
      {{{"echo", 0}}, "\"echo\": only false is supported"},
      {{{"presence_penalty", 0.5}}, "\"presence_penalty\": only 0 is supported"},
      {{{"frequency_penalty", "0"}}, "\"frequency_penalty\": only 0 is supported"},
      {{{"repetition_penalty", 1.1}}, "\"repetition_penalty\": only 1 is supported"},
      {{{"min_tokens", 3}}, "\"min_tokens\": only 0 is supported"},
      {{{"skip_special_tokens", false}}, "\"skip_special_tokens\": only true is supported"},
      {{{"include_stop_str_in_output", true}}, "\"include_stop_str_in_output\": only false is supported"},
      {{{"prompt_logprobs", 0}}, "\"prompt_logprobs\": is not supported"},
      {{{"logit_bias", {{"1", 2}}}}, "\"logit_bias\": is not supported"},
      {{{"suffix", "b"}}, "\"suffix\": is not supported"},
      {{{"response_format", {{"type", "json_object"}}}}, "\"response_format\": only"},
      {{{"response_format", "text"}}, "\"response_format\": only"},
      {{{"best_of", 2}}, "\"best_of\": is not supported"},
  };
  for (const auto& c : cases) {
    const auto request = read(c.body);
    ASSERT_FALSE(request) << c.body.dump();
    EXPECT_THAT(request.error().message, HasSubstr(c.error));
  }
  EXPECT_FALSE(read_completion_request(OrderedJson::array(), false, kLimits));
}

TEST(CompletionRequest, BadChatsNameWhatIsWrong) {
  struct Case {
    OrderedJson body;
    const char* error;
  };
  const Case cases[] = {
      {{{"messages", OrderedJson::array()}}, "\"messages\": expected a list of messages"},
      {{{"messages", "a"}}, "\"messages\": expected a list of messages"},
      {{{"messages", {1}}}, "\"messages\": expected objects with a \"role\""},
      {{{"messages", {{{"content", "a"}}}}}, "\"messages\": expected objects with a \"role\""},
      {{{"messages", {{{"role", 1}, {"content", "a"}}}}}, "\"messages\": expected objects with a \"role\""},
      {{{"messages", {{{"role", "user"}, {"content", 1}}}}}, "a text or a list of parts as \"content\""},
      {{{"prompt_token_ids", "a"}}, "\"prompt_token_ids\": expected a list of token ids"},
      {{{"chat_template_kwargs", "a"}}, "\"chat_template_kwargs\": expected an object"},
      {{{"tools", {{"type", "function"}}}}, "\"tools\": expected a list"},
      {{{"logprobs", 1}}, "\"logprobs\": expected true or false"},
      {{{"max_completion_tokens", "a"}}, "\"max_completion_tokens\": expected an integer"},
  };
  for (const auto& c : cases) {
    const auto request = read(c.body, true);
    ASSERT_FALSE(request) << c.body.dump();
    EXPECT_THAT(request.error().message, HasSubstr(c.error));
  }
}

}  // namespace
}  // namespace nereus::serving
