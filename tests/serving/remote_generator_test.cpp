#include "nereus/serving/remote_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "tests/http/test_server.h"

namespace nereus::serving {
namespace {

using ::testing::HasSubstr;

/// Answers completions one after another as a test says; the last answer is repeated.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<http::Response> answers)
      : answers_(std::move(answers)),
        server_([this](http::Exchange& exchange) -> http::Task<> { co_await handle(exchange); }, {}) {}

  http::Url url() const { return server_.url(); }
  std::vector<Json> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  http::Task<> handle(http::Exchange& exchange) {
    auto body = co_await exchange.body();
    if (!body) co_return;
    http::Response answer;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(Json::parse(*body));
      answer = answers_[std::min(requests_.size(), answers_.size()) - 1];
    }
    (void)co_await exchange.respond(std::move(answer));
  }

  std::vector<http::Response> answers_;
  mutable std::mutex mutex_;
  std::vector<Json> requests_;
  test::TestServer server_;
};

OrderedJson choice(int index, const rollout::Tokens& tokens, const char* finish, int64_t version) {
  return {{"index", index},
          {"text", "?"},
          {"finish_reason", finish},
          {"token_ids", tokens},
          {"logprobs", {{"token_logprobs", std::vector<double>(tokens.size(), -0.5)}}},
          {"policy_versions", OrderedJson::array({OrderedJson::array({version, tokens.size()})})}};
}

http::Response good(int64_t version = 7) {
  return http::json_response(200, {{"choices", OrderedJson::array({choice(1, {4, 5}, "length", version),
                                                                   choice(0, {1, 2, 3}, "stop", version)})}});
}

rollout::Request two() {
  rollout::Request request;
  request.prompt_id = 11;
  request.prompt = {8, 9};
  request.count = 2;
  request.seed = 3;
  request.sampling.temperature = 0.5F;
  request.sampling.stop_ids = {2};
  return request;
}

class RemoteGeneratorTest : public ::testing::Test {
 protected:
  RemoteOptions options(const http::Url& url) const {
    RemoteOptions options;
    options.url = url;
    options.retry_seconds = 0.01;
    options.give_up_seconds = give_up_seconds_;
    return options;
  }
  /// What one request comes to.
  Result<std::vector<rollout::Group>> answer(const http::Url& url,
                                             const rollout::TokenCallback& on_token = {}) {
    RemoteGenerator generator(loop_, options(url));
    generator.set_policy("policy-v7", 7, 5);
    EXPECT_EQ(generator.version(), 2);
    value_or_throw(generator.submit(two(), on_token));
    std::vector<rollout::Group> all;
    while (!generator.idle()) {
      auto groups = generator.step();
      if (!groups) return groups;
      for (auto& group : *groups) all.push_back(std::move(group));
    }
    return all;
  }
  http::Loop loop_;
  double give_up_seconds_ = 20;
};

TEST_F(RemoteGeneratorTest, TokensGoInAndComeOut) {
  // Fault 26: decoding and encoding again changes ids [trl 5224].
  ScriptedServer server({good()});
  const auto groups = value_or_throw(answer(server.url()));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].prompt_id, 11U);
  ASSERT_EQ(groups[0].completions.size(), 2U);
  const auto& first = groups[0].completions[0];
  EXPECT_EQ(first.tokens, (rollout::Tokens{1, 2, 3}));
  EXPECT_EQ(first.logprobs, (std::vector<float>{-0.5F, -0.5F, -0.5F}));
  EXPECT_EQ(first.versions, (std::vector<int64_t>{2, 2, 2}));  // 7 of the server is the trainer's 2
  EXPECT_EQ(first.finish, rollout::Finish::stop);
  EXPECT_EQ(groups[0].completions[1].finish, rollout::Finish::length);
  const Json sent = server.requests().at(0);
  const std::pair<const char*, Json> expected[] = {
      {"model", "policy-v7"},    {"prompt", {8, 9}},   {"n", 2},      {"seed", 3},
      {"prompt_id", 11},         {"temperature", 0.5}, {"top_k", -1}, {"stop_token_ids", {2}},
      {"return_token_ids", true}};
  for (const auto& [key, value] : expected) EXPECT_EQ(sent[key], value) << key;
}

TEST_F(RemoteGeneratorTest, WhatFailsIsAskedAgain) {
  // Fault 45: one failed generation kills the worker [trl 7176].
  const OrderedJson cut = {
      {"choices", OrderedJson::array({choice(0, {1}, "abort", 7), choice(1, {1}, "stop", 7)})}};
  const OrderedJson one = {{"choices", OrderedJson::array({choice(0, {1}, "stop", 7)})}};
  const OrderedJson twice = {
      {"choices", OrderedJson::array({choice(0, {1}, "stop", 7), choice(0, {1}, "stop", 7)})}};
  const http::Response faults[] = {
      http::text_response(500, "broken"),   http::text_response(503, "ending"),
      http::text_response(429, "full"),     http::text_response(404, "no policy-v7"),
      http::text_response(200, "<garbage"), http::json_response(200, {{"a", 1}}),
      http::json_response(200, cut),        http::json_response(200, one),
      http::json_response(200, twice),      http::json_response(200, {1, 2})};
  for (const auto& fault : faults) {
    ScriptedServer server({fault, fault, good()});
    const auto groups = answer(server.url());
    ASSERT_TRUE(groups) << groups.error().message;
    EXPECT_EQ(groups->size(), 1U);
    EXPECT_EQ(server.requests().size(), 3U) << fault.body;
  }
}

TEST_F(RemoteGeneratorTest, AnotherPolicysTokensAreNeverTaken) {
  // Fault 10: rollouts keep using the base model [ms-swift 9855].
  ScriptedServer server({good(6), good(7)});
  const auto groups = value_or_throw(answer(server.url()));
  EXPECT_EQ(server.requests().size(), 2U);
  EXPECT_EQ(groups[0].completions[0].versions.front(), 2);
}

TEST_F(RemoteGeneratorTest, AWrongRequestIsAnError) {
  ScriptedServer server({http::text_response(400, "prompt has 9000 tokens")});
  const auto groups = answer(server.url());
  ASSERT_FALSE(groups);
  EXPECT_THAT(groups.error().message, HasSubstr("status 400 for prompt 11: prompt has 9000 tokens"));
}

TEST_F(RemoteGeneratorTest, SilenceIsAnErrorAfterAWhile) {
  // Fault 4: stuck in a model update: fail and name the peer [trl 3608].
  give_up_seconds_ = 0.3;
  const http::Url nobody = [] { return ScriptedServer({good()}).url(); }();
  const auto groups = answer(nobody);
  ASSERT_FALSE(groups);
  EXPECT_THAT(groups.error().message, HasSubstr(nobody.text() + ": no answer for"));
}

TEST_F(RemoteGeneratorTest, StopStringsCutWhatTheServerSampled) {
  ScriptedServer server({good()});
  const auto groups = value_or_throw(answer(
      server.url(), [](uint64_t, uint32_t, int32_t token, float) { return token != 2 && token != 4; }));
  EXPECT_EQ(groups[0].completions[0].tokens, (rollout::Tokens{1, 2}));
  EXPECT_EQ(groups[0].completions[0].versions.size(), 2U);
  EXPECT_EQ(groups[0].completions[1].tokens, (rollout::Tokens{4}));
  EXPECT_EQ(groups[0].completions[1].finish, rollout::Finish::stop);
}

TEST_F(RemoteGeneratorTest, CancelledRequestsEndAtOnce) {
  const http::Url nobody = [] { return ScriptedServer({good()}).url(); }();
  RemoteOptions slow = options(nobody);
  slow.retry_seconds = 30;
  RemoteGenerator generator(loop_, slow);
  value_or_throw(generator.submit(two()));
  EXPECT_FALSE(generator.submit(two()));  // it runs already
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  generator.cancel(11);
  std::vector<rollout::Group> all;
  while (!generator.idle())
    for (auto& group : value_or_throw(generator.step())) all.push_back(std::move(group));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].completions.at(1).finish, rollout::Finish::cancelled);
}

}  // namespace
}  // namespace nereus::serving
