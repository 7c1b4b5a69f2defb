#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "nereus/formats/mapped_file.h"
#include "nereus/serving/endpoint.h"
#include "tests/http/test_server.h"
#include "tests/serving/fake_generator.h"

namespace nereus::serving {

inline constexpr const char* kChat =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

inline text::Tokenizer smollm_tokenizer() {
  const std::string path = std::string(NEREUS_SOURCE_DIR) + "/tests/golden/text/smollm_tokenizer.json";
  const auto file = value_or_throw(formats::MappedFile::open(path));
  return value_or_throw(text::Tokenizer::from_json(file->text(), path));
}

/// A server of one model over a FakeGenerator, and a client that asks it.
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
    engine_ = std::make_unique<EngineThread>(std::make_unique<test::FakeGenerator>(script_), hooks, engine);
    endpoint_ = std::make_unique<Endpoint>(loop_, *engine_, tokenizer_,
                                           value_or_throw(text::ChatTemplate::parse(kChat, "chat")), options);
    server_ = value_or_throw(http::Server::start(loop_, {}, [this](http::Exchange& exchange) -> http::Task<> {
      co_await endpoint_->handle(exchange);
    }));
    url_ = value_or_throw(http::Url::parse(server_->url()));
  }

  Result<std::function<void()>> load(const std::string& name, const std::string& path) {
    ++loads_;
    if (path.find("broken") != std::string::npos) throw std::runtime_error("no memory for it");
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
    const auto answer = ask(test::post(path, body.dump()));
    EXPECT_EQ(answer.status, status) << answer.body;
    return Json::parse(answer.body, nullptr, false);
  }
  /// The "data:" events of a stream.
  std::vector<std::string> stream(const std::string& path, Json body) {
    body["stream"] = true;
    const auto answer = ask(test::post(path, body.dump()));
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

  text::Tokenizer tokenizer_ = smollm_tokenizer();
  int32_t end_id_ = 0;
  std::shared_ptr<test::FakeGenerator::Script> script_ = std::make_shared<test::FakeGenerator::Script>();
  std::atomic<int> loads_ = 0;
  http::Loop loop_;
  std::unique_ptr<EngineThread> engine_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<http::Server> server_;
  test::TestClient client_;
  http::Url url_;
};

}  // namespace nereus::serving
