#include "nereus/serving/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/formats/mapped_file.h"
#include "tests/formats/scratch_folder.h"
#include "tests/http/raw_socket.h"
#include "tests/http/test_server.h"
#include "tests/serving/fake_generator.h"

namespace nereus::serving {
namespace {

using test::eventually;
using test::FakeGenerator;
using test::get;
using test::post;
using testing::HasSubstr;

constexpr const char* kChat =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

text::Tokenizer tokenizer() {
  const std::string path = std::string(NEREUS_SOURCE_DIR) + "/tests/golden/text/smollm_tokenizer.json";
  const auto file = value_or_throw(formats::MappedFile::open(path));
  return value_or_throw(text::Tokenizer::from_json(file->text(), path));
}

class EndpointTest : public testing::Test {
 protected:
  EndpointTest() {
    script_->answer = tokenizer_.encode("Hello wörld. STOP here", false);
    end_id_ = *tokenizer_.id("<|im_end|>");
  }
  ~EndpointTest() override {
    if (server_) server_->stop(0);
  }

  void start(EndpointOptions options = {}, EngineThreadOptions engine = {}) {
    options.model_name = engine.base_name = "base";
    options.fingerprint = "f1";
    options.end_ids = {end_id_};
    options.limits.vocab_size = tokenizer_.vocab_size();
    AdapterHooks hooks;
    hooks.load = [this](const std::string& name, const std::string& path) { return load(name, path); };
    hooks.remove = [this](const std::string& name) {
      const std::lock_guard lock(script_->mutex);
      script_->policies.erase(name);
    };
    engine_ = std::make_unique<EngineThread>(std::make_unique<FakeGenerator>(script_), hooks, engine);
    endpoint_ = std::make_unique<Endpoint>(loop_, *engine_, tokenizer_,
                                           value_or_throw(text::ChatTemplate::parse(kChat, "chat")), options);
    server_ = value_or_throw(http::Server::start(loop_, {}, [this](http::Exchange& exchange) -> http::Task<> {
      co_await endpoint_->handle(exchange);
    }));
    url_ = value_or_throw(http::Url::parse(server_->url()));
  }

  Result<std::function<void()>> load(const std::string& name, const std::string& path) {
    ++loads_;
    if (path.find("missing") != std::string::npos) return fail("{}: no adapter_config.json", path);
    rollout::Tokens answer = tokenizer_.encode("I am " + name, false);
    answer.push_back(end_id_);
    return [this, name, answer] {
      const std::lock_guard lock(script_->mutex);
      script_->policies[name] = answer;
    };
  }

  http::Response ask(const http::Request& request) { return value_or_throw(client_.fetch(url_, request)); }
  Json complete(Json body, int status = 200) { return ask_json("/v1/completions", std::move(body), status); }
  Json chat(Json body, int status = 200) { return ask_json("/v1/chat/completions", std::move(body), status); }
  Json ask_json(const std::string& path, Json body, int status = 200) {
    const auto answer = ask(post(path, body.dump()));
    EXPECT_EQ(answer.status, status) << answer.body;
    return Json::parse(answer.body, nullptr, false);
  }
  /// The "data:" events of a stream.
  std::vector<std::string> stream(const std::string& path, Json body) {
    body["stream"] = true;
    const auto answer = ask(post(path, body.dump()));
    EXPECT_EQ(answer.headers.get("Content-Type"), "text/event-stream") << answer.body;
    std::vector<std::string> events;
    std::string_view rest = answer.body;
    while (rest.starts_with("data: ")) {
      const size_t end = rest.find("\n\n");
      events.emplace_back(rest.substr(6, end - 6));
      rest.remove_prefix(end + 2);
    }
    EXPECT_TRUE(rest.empty());
    return events;
  }
  int steps() {
    const std::lock_guard lock(script_->mutex);
    return script_->steps;
  }

  text::Tokenizer tokenizer_ = tokenizer();
  int32_t end_id_ = 0;
  std::shared_ptr<FakeGenerator::Script> script_ = std::make_shared<FakeGenerator::Script>();
  std::atomic<int> loads_ = 0;
  http::Loop loop_;
  std::unique_ptr<EngineThread> engine_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<http::Server> server_;
  test::TestClient client_;
  http::Url url_;
};

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
  struct Case {
    Json body;
    const char* error;
  };
  const Case cases[] = {
      {Json::object(), "\"prompt\": expected a text or a list of token ids"},
      {{{"prompt", {1, -1}}}, "\"prompt\": expected a text or a list of token ids"},
      {{{"prompt", {1, 1000000}}}, "\"prompt\": expected a text or a list of token ids"},
      {{{"prompt", {"a", "b"}}}, "several prompts are several requests"},
      {{{"prompt", "a"}, {"max_tokens", 0}}, "\"max_tokens\": expected an integer from 1"},
      {{{"prompt", "a"}, {"max_tokens", 1.5}}, "\"max_tokens\": expected an integer"},
      {{{"prompt", "a"}, {"temperature", -1}}, "\"temperature\": expected a number from 0"},
      {{{"prompt", "a"}, {"top_p", 0}}, "\"top_p\""},
      {{{"prompt", "a"}, {"min_p", 2}}, "\"min_p\""},
      {{{"prompt", "a"}, {"n", 1000}}, "\"n\": expected an integer from 1 to 128"},
      {{{"prompt", "a"}, {"seed", "x"}}, "\"seed\": expected an integer"},
      {{{"prompt", "a"}, {"stop", {1}}}, "\"stop\": expected a text or a list"},
      {{{"prompt", "a"}, {"stream", "yes"}}, "\"stream\": expected true or false"},
      {{{"prompt", "a"}, {"echo", true}}, "\"echo\": is not supported"},
      {{{"prompt", "a"}, {"presence_penalty", 0.5}}, "\"presence_penalty\": only 0 is supported"},
      {{{"prompt", "a"}, {"logit_bias", {{"1", 2}}}}, "\"logit_bias\": is not supported"},
      {{{"prompt", "a"}, {"response_format", {{"type", "json_object"}}}}, "\"response_format\""},
      {{{"prompt", std::vector<int>(1001, 1)}}, "the context holds 1000"},
  };
  for (const auto& c : cases) {
    const Json answer = complete(c.body, 400);
    EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr(c.error))
        << c.body.dump().substr(0, 80);
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

// Rollouts keep using the base model: requests name the exact version [ms-swift 9855].
TEST_F(EndpointTest, Fault10_AdaptersAnswerUnderTheirNamesOnly) {
  start();
  ASSERT_EQ(ask_json("/v1/load_lora_adapter", {{"lora_name", "policy-v7"}, {"lora_path", "/x"}})["status"],
            "ok");
  const Json answer =
      complete({{"prompt", {1}}, {"model", "policy-v7"}, {"max_tokens", 50}, {"return_token_ids", true}});
  EXPECT_EQ(answer["choices"][0]["text"], "I am policy-v7");
  EXPECT_EQ(answer["choices"][0]["policy_versions"][0][0], 7);
  EXPECT_EQ(answer["model"], "policy-v7");
  EXPECT_EQ(complete({{"prompt", {1}}, {"model", "base"}, {"stop", "."}})["choices"][0]["text"],
            "Hello wörld");
  complete({{"prompt", {1}}, {"model", "policy-v8"}}, 404);
  const Json models = Json::parse(ask(get("/v1/models")).body);
  EXPECT_EQ(models["data"][1]["id"], "policy-v7");
  EXPECT_EQ(models["data"][1]["parent"], "base");
  EXPECT_EQ(models["data"][0]["fingerprint"], "f1");
  ASSERT_EQ(ask_json("/v1/unload_lora_adapter", {{"lora_name", "policy-v7"}})["status"], "ok");
  complete({{"prompt", {1}}, {"model", "policy-v7"}}, 404);
}

// A flag re-reads the adapter from disk at every step: loaded once [SkyRL 1606].
TEST_F(EndpointTest, Fault12_AnAdapterIsReadOnce) {
  start();
  for (int i = 0; i < 3; ++i) ask_json("/v1/load_lora_adapter", {{"lora_name", "a"}, {"lora_path", "/x"}});
  for (int i = 0; i < 3; ++i) complete({{"prompt", {1}}, {"model", "a"}});
  EXPECT_EQ(loads_, 1);
  EXPECT_THAT(
      ask_json("/v1/load_lora_adapter", {{"lora_name", "a"}, {"lora_path", "/y"}}, 400)["error"]["message"]
          .get<std::string>(),
      HasSubstr("a: is loaded already, from /x"));
}

TEST_F(EndpointTest, AdaptersThatCannotBeLoaded) {
  const test::ScratchFolder folder;
  EndpointOptions options;
  options.adapter_root = folder.path();
  start(options, {.adapter_slots = 1});
  const auto load = [&](const char* name, const char* path) {
    return ask_json("/v1/load_lora_adapter", {{"lora_name", name}, {"lora_path", path}},
                    400)["error"]["message"]
        .get<std::string>();
  };
  EXPECT_THAT(load("../a", "x"), HasSubstr("\"lora_name\": expected"));
  EXPECT_THAT(load("base", "x"), HasSubstr("is the name of the base model"));
  EXPECT_THAT(load("a", "../x"), HasSubstr("is not within"));
  EXPECT_THAT(load("a", "/etc"), HasSubstr("is not within"));
  EXPECT_THAT(load("a", ""), HasSubstr("expected the folder of an adapter"));
  EXPECT_THAT(load("a", "missing"), HasSubstr("no adapter_config.json"));
  EXPECT_EQ(ask_json("/v1/load_lora_adapter", {{"lora_name", "a"}, {"lora_path", "x"}})["status"], "ok");
  // Load before unload exceeds the slots and evicts a live policy [trl 7017].
  EXPECT_THAT(load("b", "x"), HasSubstr("all 1 adapter slots are in use; unload one first"));
  ask_json("/v1/unload_lora_adapter", {{"lora_name", "b"}}, 404);
}

// One failed generation kills the worker [trl 7176].
TEST_F(EndpointTest, Fault45_AFailedStepFailsItsRequestsAlone) {
  start();
  {
    const std::lock_guard lock(script_->mutex);
    script_->failing_steps = 1;
  }
  EXPECT_THAT(complete({{"prompt", {1}}}, 500)["error"]["message"].get<std::string>(),
              HasSubstr("the logits are not finite"));
  EXPECT_EQ(complete({{"prompt", {1}}})["choices"].size(), 1U);
  EXPECT_EQ(ask(get("/health")).status, 200);
}

// The trainer waits hours after the generators died: a fatal error reaches it [NeMo-RL 3488].
TEST_F(EndpointTest, Fault44_AnEngineThatKeepsFailingSaysSo) {
  start();
  {
    const std::lock_guard lock(script_->mutex);
    script_->failing_steps = 100;
  }
  complete({{"prompt", {1}}}, 500);
  EXPECT_TRUE(eventually([&] { return ask(get("/health")).status == 503; }));
  EXPECT_THAT(complete({{"prompt", {1}}}, 503)["error"]["message"].get<std::string>(),
              HasSubstr("the engine failed 3 times in a row"));
}

TEST_F(EndpointTest, AClientThatLeavesEndsItsRequest) {
  start();
  script_->step_seconds = 0.002;
  {
    test::RawSocket socket(server_->port());
    const std::string body = R"({"prompt": [1], "max_tokens": 100000, "stream": true})";
    ASSERT_TRUE(socket.send(
        fmt::format("POST /v1/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body)));
    socket.receive_until("data:");
  }
  EXPECT_TRUE(eventually([&] { return engine_->stats().cancelled == 1; }));
  const std::lock_guard lock(script_->mutex);
  EXPECT_EQ(script_->cancelled, 1);
}

TEST_F(EndpointTest, RequestsBeyondTheLimitAreTurnedAway) {
  start({}, {.max_requests = 1});
  script_->step_seconds = 0.002;
  test::RawSocket socket(server_->port());
  const std::string body = R"({"prompt": [1], "max_tokens": 100000})";
  ASSERT_TRUE(socket.send(
      fmt::format("POST /v1/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body)));
  ASSERT_TRUE(eventually([&] { return engine_->stats().running == 1; }));
  const auto answer = ask(post("/v1/completions", R"({"prompt": [1]})"));
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.headers.get("Retry-After"), "1");
}

// Deadlock when pausing with many requests outstanding: pause works under full load [verl 7990].
TEST_F(EndpointTest, Fault6_PausesAndResumesUnderLoad) {
  start();
  script_->step_seconds = 0.001;
  std::vector<std::jthread> asking;
  std::atomic<int> whole = 0, aborted = 0;
  const auto ask_many = [&](int count) {
    for (int i = 0; i < count; ++i)
      asking.emplace_back([&] {
        test::TestClient client;
        const auto got = client.fetch(url_, post("/v1/completions", R"({"prompt": [1], "max_tokens": 60})"));
        ASSERT_TRUE(got);
        const std::string reason = Json::parse(got->body)["choices"][0]["finish_reason"];
        ++(reason == "length" ? whole : aborted);
      });
  };
  ask_many(24);
  ASSERT_TRUE(eventually([&] { return engine_->stats().running == 24; }));
  ASSERT_EQ(ask(post("/pause?mode=keep", "")).status, 200);
  const int paused_at = steps();
  EXPECT_EQ(engine_->stats().running, 24U);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(steps(), paused_at);
  ASSERT_EQ(ask(post("/resume", "")).status, 200);
  asking.clear();
  EXPECT_EQ(whole, 24);
  ask_many(8);
  ASSERT_TRUE(eventually([&] { return engine_->stats().running == 8; }));
  ASSERT_EQ(ask(post("/pause?mode=abort", "")).status, 200);
  asking.clear();
  EXPECT_EQ(aborted, 8);  // with the tokens that they had
  ASSERT_EQ(ask(post("/resume", "")).status, 200);
  ask_many(8);
  ASSERT_TRUE(eventually([&] { return engine_->stats().running > 0; }));
  ASSERT_EQ(ask(post("/pause?mode=wait", "")).status, 200);
  const int ended = whole;
  EXPECT_LE(engine_->stats().running, static_cast<size_t>(32 - ended));  // those that came late wait
  ASSERT_EQ(ask(post("/resume", "")).status, 200);
  asking.clear();
  EXPECT_EQ(whole, 32);
}

TEST_F(EndpointTest, Metrics) {
  start();
  complete({{"prompt", {1}}, {"max_tokens", 3}});
  EXPECT_TRUE(eventually([&] {
    const std::string page = ask(get("/metrics")).body;
    return page.find("nereus_serve_requests_total{result=\"finished\"} 1\n") != std::string::npos &&
           page.find(
               "# TYPE nereus_serve_generated_tokens_total counter\nnereus_serve_generated_tokens_total "
               "3\n") != std::string::npos;
  }));
}

}  // namespace
}  // namespace nereus::serving
