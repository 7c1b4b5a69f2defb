#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "nereus/http/client.h"
#include "nereus/http/loop.h"
#include "nereus/http/server.h"

namespace nereus::test {

/// A server on a free port of this machine, on a loop of its own.
class TestServer {
 public:
  explicit TestServer(http::Handler handler, http::ServerOptions options = {})
      : server_(value_or_throw(http::Server::start(loop_, std::move(options), std::move(handler)))) {}

  http::Loop& loop() { return loop_; }
  http::Server& server() { return *server_; }
  uint16_t port() const { return server_->port(); }
  http::Url url() const { return value_or_throw(http::Url::parse(server_->url())); }

 private:
  http::Loop loop_;
  std::unique_ptr<http::Server> server_;
};

/// A client for tests that wait for each answer.
class TestClient {
 public:
  explicit TestClient(http::ClientOptions options = {})
      : client_(std::make_unique<http::Client>(loop_, options)) {}

  Result<http::Response> fetch(const http::Url& url, http::Request request, http::CallOptions options = {}) {
    return loop_.run(client_->fetch(url, std::move(request), std::move(options)));
  }
  http::Loop& loop() { return loop_; }
  http::Client& client() { return *client_; }

 private:
  http::Loop loop_;
  std::unique_ptr<http::Client> client_;
};

inline http::Request get(std::string target) {
  http::Request request;
  request.target = std::move(target);
  return request;
}

inline http::Request post(std::string target, std::string body) {
  return {"POST", std::move(target), {}, std::move(body)};
}

/// Waits until it holds, for 4,000 looks of 5 ms.
template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 4000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

}  // namespace nereus::test
