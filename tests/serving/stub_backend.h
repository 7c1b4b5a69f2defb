#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/http/server.h"
#include "tests/http/test_server.h"

namespace nereus::test {

/// A server of OpenAI's API with LoRA endpoints as vLLM has them, whose faults a test scripts.
class StubBackend {
 public:
  enum class Fault : uint8_t {
    none,
    error_500,     ///< completions fail with status 500
    garbage,       ///< completions are no JSON
    break_off,     ///< answers end in the middle
    hang,          ///< nothing is answered, health neither
    refuse_loads,  ///< adapters are refused with status 400
    hang_loads,    ///< loading an adapter does not end
    slow,          ///< completions take 0.2 s
    refuse_unloads,
    slow_unloads,     ///< unloading an adapter takes 0.5 s
    endless,          ///< completions do not come to an end
    ignore_adapters,  ///< adapters are taken, and the base model answers
    no_replacing,     ///< it does not know of load_inplace
  };

  explicit StubBackend(http::ServerOptions options = {}) : options_(std::move(options)) { start(); }

  void set_fault(Fault fault) { fault_ = fault; }
  http::Url url() const { return url_; }
  /// As kill -9 does; the port stays its own.
  void kill() { server_.reset(); }
  /// Without its adapters, as after a crash.
  void restart() {
    server_.reset();
    clear_adapters();
    start();
  }
  void clear_adapters() {
    const std::lock_guard lock(mutex_);
    adapters_.clear();
  }
  std::map<std::string, std::string> adapters() const {
    const std::lock_guard lock(mutex_);
    return adapters_;
  }
  /// "POST /path model" of each request, in order.
  std::vector<std::string> log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  size_t count(const std::string& entry) const {
    const auto entries = log();
    return static_cast<size_t>(std::ranges::count(entries, entry));
  }
  void set_base(std::string root) {
    const std::lock_guard lock(mutex_);
    root_ = std::move(root);
  }
  std::string last_authorization() const {
    const std::lock_guard lock(mutex_);
    return authorization_;
  }
  std::atomic<int> completions = 0, running = 0, abandoned = 0;

 private:
  void start() {
    server_ = std::make_unique<TestServer>(
        [this](http::Exchange& exchange) -> http::Task<> { co_await handle(exchange); }, options_);
    url_ = server_->url();
    loop_ = &server_->loop();
    options_.port = server_->port();
  }

  http::Task<> handle(http::Exchange& exchange) {
    auto body = co_await exchange.body();
    if (!body) co_return;
    const Json json = body->empty() ? Json::object() : Json::parse(*body, nullptr, false);
    const std::string path = exchange.request().path();
    const std::string model = json.is_object() ? json.value("model", json.value("lora_name", "")) : "";
    {
      const std::lock_guard lock(mutex_);
      log_.push_back(exchange.request().method + " " + path + (model.empty() ? "" : " " + model));
      authorization_ = exchange.request().headers.get("Authorization");
    }
    if (fault_ == Fault::hang || (fault_ == Fault::hang_loads && path == "/v1/load_lora_adapter")) {
      co_await hang(exchange);
      co_return;
    }
    if (fault_ == Fault::slow_unloads && path == "/v1/unload_lora_adapter") {
      const auto stop = exchange.stop();
      (void)co_await loop_.load()->sleep(0.5, stop);
    }
    if (path == "/v1/completions" || path == "/v1/chat/completions") {
      ++running;
      co_await complete(exchange, json, model);
      --running;
    } else {
      http::Response response = answer(path, json);
      (void)co_await exchange.respond(std::move(response));
    }
  }

  http::Task<> hang(http::Exchange& exchange) {
    const auto stop = exchange.stop();
    (void)co_await loop_.load()->sleep(60, stop);
    ++abandoned;
  }

  http::Response answer(const std::string& path, const Json& json) {
    const std::lock_guard lock(mutex_);
    if (path == "/v1/models") return models();
    if (path == "/pause" || path == "/resume") return http::json_response(200, {{"status", "ok"}});
    const std::string name = json.value("lora_name", "");
    if (path == "/v1/load_lora_adapter") {
      if (fault_ == Fault::refuse_loads) return error(400, "no such adapter on this disk");
      const bool replace = json.value("load_inplace", false) && fault_ != Fault::no_replacing;
      if (adapters_.contains(name) && !replace)
        return error(400, "The lora adapter '" + name + "' has already been loaded.");
      adapters_[name] = json.value("lora_path", "");
      return http::text_response(200, "Success: LoRA adapter '" + name + "' added successfully.");
    }
    if (path == "/v1/unload_lora_adapter") {
      if (fault_ == Fault::refuse_unloads) return error(500, "cannot let go of it");
      if (adapters_.erase(name) == 0) return error(404, "The lora adapter '" + name + "' cannot be found.");
      return http::text_response(200, "Success: LoRA adapter '" + name + "' removed successfully.");
    }
    return error(404, "no such path");
  }

  static http::Response error(int status, const std::string& message) {
    return http::json_response(status, {{"error", {{"message", message}}}});
  }

  http::Response models() const {
    OrderedJson data = OrderedJson::array({{{"id", "base"}, {"root", root_}, {"parent", nullptr}}});
    for (const auto& [name, path] : adapters_)
      data.push_back({{"id", name}, {"root", path}, {"parent", "base"}});
    return http::json_response(200, {{"object", "list"}, {"data", data}});
  }

  http::Task<> complete(http::Exchange& exchange, const Json& json, const std::string& model) {
    if (!model.empty() && model != "base" && !adapters().contains(model)) {
      http::Response missing = error(404, "The model `" + model + "` does not exist.");
      (void)co_await exchange.respond(std::move(missing));
      co_return;
    }
    ++completions;
    if (fault_ == Fault::slow) {
      const auto stop = exchange.stop();
      if (!co_await loop_.load()->sleep(0.2, stop)) ++abandoned;
    }
    http::Response response = http::json_response(200, completion(model));
    if (fault_ == Fault::error_500) response = error(500, "out of memory");
    if (fault_ == Fault::garbage) response.body = "<html>";
    const bool stream = json.is_object() && json.value("stream", false);
    if (stream && fault_ != Fault::error_500)
      co_await send_stream(exchange);
    else if (fault_ == Fault::break_off)
      co_await send_half(exchange);
    else if (fault_ == Fault::endless)
      co_await send_for_ever(exchange);
    else
      (void)co_await exchange.respond(std::move(response));
  }

  /// The same text under every adapter, with another log-prob where it acts.
  OrderedJson completion(const std::string& model) const {
    const bool acts = adapters().contains(model) && model != "untrained" && fault_ != Fault::ignore_adapters;
    const OrderedJson logprobs = {{"token_logprobs", {-1.0, acts ? -1.1 : -1.0}}};
    return {{"object", "text_completion"},
            {"model", model},
            {"choices", OrderedJson::array({{{"index", 0}, {"text", "four five"}, {"logprobs", logprobs}}})}};
  }

  http::Task<> send_half(http::Exchange& exchange) {
    http::Headers headers;
    headers.add("Content-Type", "application/json");
    (void)co_await exchange.begin(200, headers);
    (void)co_await exchange.write("{\"half\":");
  }

  http::Task<> send_for_ever(http::Exchange& exchange) {
    http::Headers headers;
    headers.add("Content-Type", "application/json");
    const std::string piece(64 << 10, 'x');
    if (!co_await exchange.begin(200, headers)) co_return;
    while (co_await exchange.write(piece)) {
    }
    ++abandoned;
  }

  http::Task<> send_stream(http::Exchange& exchange) {
    http::Headers headers;
    headers.add("Content-Type", "text/event-stream");
    if (!co_await exchange.begin(200, headers)) co_return;
    for (int i = 0; i < 5; ++i) {
      const std::string event = fmt::format("data: {{\"i\": {}}}\n\n", i);
      if (!co_await exchange.write(event)) co_return;
      if (fault_ == Fault::break_off && i == 2) co_return;
      const auto stop = exchange.stop();
      if (fault_ == Fault::slow && !co_await loop_.load()->sleep(0.1, stop)) {
        ++abandoned;
        co_return;
      }
    }
    (void)co_await exchange.write("data: [DONE]\n\n");
    (void)co_await exchange.end();
  }

  http::ServerOptions options_;
  std::atomic<Fault> fault_ = Fault::none;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> adapters_;
  std::vector<std::string> log_;
  std::string root_ = "base-1", authorization_;
  http::Url url_;
  std::unique_ptr<TestServer> server_;
  std::atomic<http::Loop*> loop_ =
      nullptr;  ///< of the server; handlers read it while `kill` takes the server away
};

}  // namespace nereus::test
