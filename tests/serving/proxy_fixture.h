#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nereus/serving/proxy.h"
#include "tests/http/raw_socket.h"
#include "tests/serving/stub_backend.h"

namespace nereus::serving {

using test::eventually;
using test::get;
using test::post;
using test::StubBackend;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using Fault = StubBackend::Fault;

/// Stub servers behind a proxy, and a client before it.
class ProxyTest : public testing::Test {
 protected:
  ~ProxyTest() override {
    if (server_) server_->stop(0);
    proxy_.reset();
  }

  ProxyOptions fast() {
    ProxyOptions options;
    options.fleet.check_seconds = 0.05;
    options.fleet.answer_seconds = 0.3;
    options.fleet.load_seconds = 1;
    options.fleet.failures = 2;
    options.wait_seconds = 3;
    options.drain_seconds = 0.2;
    return options;
  }

  void start(size_t count, ProxyOptions options, BackendKind kind = BackendKind::vllm) {
    for (size_t i = 0; i < count; ++i) {
      stubs_.push_back(std::make_unique<StubBackend>());
      options.fleet.backends.push_back({stubs_.back()->url(), kind, "inner"});
    }
    start_proxy(std::move(options));
    ASSERT_TRUE(eventually([&] { return serving() == count; }));
  }
  void start_proxy(ProxyOptions options) {
    proxy_ = std::make_unique<Proxy>(loop_, std::move(options));
    proxy_->start();
    http::ServerOptions server_options;
    server_options.token = "outer";
    server_ = value_or_throw(http::Server::start(
        loop_, server_options,
        [this](http::Exchange& exchange) -> http::Task<> { co_await proxy_->handle(exchange); }));
    url_ = value_or_throw(http::Url::parse(server_->url()));
  }

  http::Response ask(http::Request request) {
    request.headers.set("Authorization", "Bearer outer");
    return value_or_throw(client_.fetch(url_, std::move(request)));
  }
  /// By a client of its own, so by any thread.
  Result<http::Response> ask_alone(http::Request request, http::CallOptions options = {}) {
    test::TestClient client;
    request.headers.set("Authorization", "Bearer outer");
    return client.fetch(url_, std::move(request), std::move(options));
  }
  /// Asks for so many completions at once, does something meanwhile, and tells how many were answered.
  int answered_at_once(
      int count, const std::function<void()>& meanwhile = [] {}) {
    std::atomic<int> answered = 0;
    std::vector<std::jthread> asking;
    for (int i = 0; i < count; ++i)
      asking.emplace_back([&, i] {
        const auto got = ask_alone(post("/v1/completions", fmt::format(R"({{"prompt": "{}"}})", i)));
        answered += got && got->status == 200 ? 1 : 0;
      });
    meanwhile();
    asking.clear();
    return answered;
  }
  bool ask_for_stream(test::RawSocket& socket) {
    constexpr std::string_view kBody = R"({"prompt": "hello", "stream": true})";
    return socket.send(fmt::format(
        "POST /v1/completions HTTP/1.1\r\nAuthorization: Bearer outer\r\nContent-Length: {}\r\n\r\n{}",
        kBody.size(), kBody));
  }
  Json health() { return Json::parse(ask(get("/health")).body); }
  std::string state(size_t i) { return health()["servers"][i]["state"]; }
  size_t serving() {
    size_t found = 0;
    const Json page = health();
    for (const auto& server : page["servers"]) found += server["state"] == "serving" ? 1 : 0;
    return found;
  }
  http::Response complete(const std::string& model, int32_t first_token = 0, bool stream = false) {
    Json body = {{"prompt", Json::array()}, {"stream", stream}};
    for (int32_t i = 0; i < 40; ++i) body["prompt"].push_back(first_token + i);
    if (!model.empty()) body["model"] = model;
    return ask(post("/v1/completions", body.dump()));
  }
  http::Response publish(const std::string& name) {
    return load({{"lora_name", name}, {"lora_path", "/bucket/" + name}});
  }
  http::Response load(const Json& body) { return ask(post("/v1/load_lora_adapter", body.dump())); }
  http::Response withdraw(const std::string& name) {
    return ask(post("/v1/unload_lora_adapter", Json({{"lora_name", name}}).dump()));
  }
  double metric(const std::string& name) {
    const std::string page = ask(get("/metrics")).body;
    const size_t at = page.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
  }

  http::Loop loop_;
  std::vector<std::unique_ptr<StubBackend>> stubs_;
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<http::Server> server_;
  test::TestClient client_;
  http::Url url_;
};

}  // namespace nereus::serving
