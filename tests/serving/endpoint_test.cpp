#include "tests/serving/endpoint_fixture.h"

namespace nereus::serving {
namespace {

using test::get;
using test::post;
using testing::HasSubstr;

TEST_F(EndpointTest, TokenIdsInAndOut) {
  start();
  script_->version = 3;
  const Json answer = complete(
      {{"prompt", {5, 6, 7}}, {"max_tokens", 4}, {"n", 2}, {"logprobs", 0}, {"return_token_ids", true}});
  ASSERT_EQ(answer["choices"].size(), 2U);
  const Json& choice = answer["choices"][1];
  const rollout::Tokens expected(script_->answer.begin(), script_->answer.begin() + 4);
  EXPECT_EQ(choice["token_ids"], Json(expected));
  EXPECT_EQ(choice["prompt_token_ids"], Json({5, 6, 7}));
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["logprobs"]["token_logprobs"], Json({-0.5, -1.0, -1.5, -2.0}));
  EXPECT_EQ(choice["policy_versions"], Json::array({Json::array({3, 4})}));
  EXPECT_EQ(choice["text"], tokenizer_.decode(expected, true));
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 8);
  EXPECT_EQ(answer["model"], "base");
  EXPECT_EQ(script_->requests[0].prompt, (rollout::Tokens{5, 6, 7}));
}

TEST_F(EndpointTest, TellsWhatThePrefixCacheHad) {
  start();
  const Json cold = complete({{"prompt", {5, 6, 7}}, {"max_tokens", 2}});
  EXPECT_EQ(cold["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  script_->cached_tokens = 2;
  const Json warm = complete({{"prompt", {5, 6, 7}}, {"max_tokens", 2}});
  EXPECT_EQ(warm["usage"]["prompt_tokens_details"]["cached_tokens"], 2);
  const auto events = stream(
      "/v1/chat/completions",
      {{"prompt_token_ids", {1, 2, 3, 4}}, {"max_tokens", 2}, {"stream_options", {{"include_usage", true}}}});
  EXPECT_EQ(Json::parse(events[events.size() - 2])["usage"]["prompt_tokens_details"]["cached_tokens"], 2);
  EXPECT_TRUE(test::eventually([&] {
    const std::string page = ask(get("/metrics")).body;
    return page.find("nereus_serve_prefix_cache_queries_total 10\n") != std::string::npos &&
           page.find("nereus_serve_prefix_cache_hits_total 4\n") != std::string::npos;
  }));
}

TEST_F(EndpointTest, TextStopsAtStopStrings) {
  start();
  const Json answer = complete({{"prompt", "Hi"}, {"max_tokens", 100}, {"stop", "STOP"}});
  EXPECT_EQ(answer["choices"][0]["text"], "Hello wörld. ");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(answer["choices"][0]["stop_reason"], "STOP");
  EXPECT_EQ(script_->requests[0].prompt, tokenizer_.encode("Hi", true));
  EXPECT_EQ(script_->requests[0].sampling.stop_ids, rollout::Tokens{end_id_});
}

TEST_F(EndpointTest, ChatsAreRenderedAndEndAtTheEndToken) {
  start();
  script_->answer = tokenizer_.encode("Yes.", false);
  script_->answer.push_back(end_id_);
  const Json answer = chat({{"messages", {{{"role", "user"}, {"content", "Well?"}}}}, {"logprobs", true}});
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "Yes.");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(answer["choices"][0]["logprobs"]["content"].size(), script_->answer.size());
  EXPECT_EQ(script_->requests[0].prompt,
            tokenizer_.encode("<|im_start|>user\nWell?<|im_end|>\n<|im_start|>assistant\n", false));
  EXPECT_EQ(chat({{"prompt_token_ids", {1, 2}}})["choices"][0]["message"]["content"], "Yes.");
  EXPECT_EQ(script_->requests[1].prompt, (rollout::Tokens{1, 2}));
}

TEST_F(EndpointTest, StreamsWholeCharacters) {
  start();
  const auto events = stream("/v1/completions", {{"prompt", "Hi"},
                                                 {"max_tokens", 100},
                                                 {"stop", "STOP"},
                                                 {"stream_options", {{"include_usage", true}}}});
  ASSERT_GT(events.size(), 3U);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(Json::parse(events[events.size() - 2])["usage"]["prompt_tokens"],
            tokenizer_.encode("Hi", true).size());
  std::string text;
  for (size_t i = 0; i + 2 < events.size(); ++i)
    text += Json::parse(events[i])["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(text, "Hello wörld. ");
  EXPECT_EQ(Json::parse(events[events.size() - 3])["choices"][0]["finish_reason"], "stop");
}

TEST_F(EndpointTest, StreamsIdsOfEveryChoice) {
  start();
  const auto events = stream("/v1/chat/completions", {{"prompt_token_ids", {1}},
                                                      {"max_tokens", 3},
                                                      {"n", 2},
                                                      {"return_token_ids", true},
                                                      {"logprobs", true}});
  std::vector<rollout::Tokens> tokens(2);
  std::vector<int> roles(2);
  for (const auto& event : events) {
    if (event == "[DONE]") continue;
    const Json choice = Json::parse(event)["choices"][0];
    const size_t index = choice["index"];
    roles[index] += choice["delta"].contains("role") ? 1 : 0;
    for (const auto& id : choice["token_ids"]) tokens[index].push_back(id);
  }
  const rollout::Tokens expected(script_->answer.begin(), script_->answer.begin() + 3);
  EXPECT_EQ(tokens[0], expected);
  EXPECT_EQ(tokens[1], expected);
  EXPECT_EQ(roles, (std::vector{1, 1}));
}

TEST_F(EndpointTest, BadRequestsNameWhatIsWrong) {
  start();
  const std::pair<Json, const char*> cases[] = {
      {Json::object(), "\"prompt\": expected a text or a list of token ids"},
      {{{"prompt", "a"}, {"temperature", "hot"}}, "\"temperature\": expected a number"},
      {{{"prompt", std::vector<int>(1001, 1)}}, "the context holds 1000"},
  };
  for (const auto& [body, error] : cases) {
    const Json answer = complete(body, 400);
    EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr(error));
    EXPECT_EQ(answer["error"]["type"], "invalid_request_error");
  }
  EXPECT_THAT(chat({{"messages", Json::array()}}, 400)["error"]["message"].get<std::string>(),
              HasSubstr("\"messages\""));
  EXPECT_EQ(ask(post("/v1/completions", "{\"prompt\": \"a\"")).status, 400);
  EXPECT_EQ(ask(get("/v2")).status, 404);
  EXPECT_EQ(complete({{"prompt", "a"}, {"model", "nobody"}}, 404)["error"]["type"], "not_found_error");
}

// Sampling parameters shared between requests are changed by one of them [verl 5430].
TEST_F(EndpointTest, Fault43_EachRequestHasItsOwnSampling) {
  start();
  complete({{"prompt", {1}}, {"temperature", 0.5}, {"top_k", 7}, {"stop_token_ids", {9}}, {"max_tokens", 2}});
  complete({{"prompt", {1}}, {"ignore_eos", true}, {"max_tokens", 2}});
  complete({{"prompt", {1}}, {"max_tokens", 2}});
  ASSERT_EQ(script_->requests.size(), 3U);
  EXPECT_EQ(script_->requests[0].sampling.temperature, 0.5F);
  EXPECT_EQ(script_->requests[0].sampling.stop_ids, (rollout::Tokens{9, end_id_}));
  EXPECT_TRUE(script_->requests[1].sampling.stop_ids.empty());
  EXPECT_EQ(script_->requests[2].sampling.temperature, 1.0F);
  EXPECT_EQ(script_->requests[2].sampling.top_k, 0);
  EXPECT_EQ(script_->requests[2].sampling.stop_ids, rollout::Tokens{end_id_});
}

TEST_F(EndpointTest, OneSeedAndPromptGiveOneStream) {
  start();
  for (int i = 0; i < 2; ++i) complete({{"prompt", {1, 2}}, {"seed", 11}});
  complete({{"prompt", {1, 3}}, {"seed", 11}});
  complete({{"prompt", {1, 2}}, {"seed", 11}, {"prompt_id", 5}});
  for (int i = 0; i < 2; ++i) complete({{"prompt", {1, 2}}});
  const auto& requests = script_->requests;
  EXPECT_EQ(requests[0].seed, 11U);
  EXPECT_EQ(requests[0].stream, requests[1].stream);
  EXPECT_NE(requests[0].stream, requests[2].stream);
  EXPECT_EQ(requests[3].stream, 5U);
  EXPECT_NE(requests[4].stream, requests[5].stream);
}

}  // namespace
}  // namespace nereus::serving
