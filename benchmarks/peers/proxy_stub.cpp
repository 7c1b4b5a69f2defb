// Stub servers behind the proxies that scripts/bench compares: they answer at once, or stream events.
//
// usage: proxy_stub PORT...
//
// GET /v1/models names one model. POST /v1/completions gives a small answer; where the request's body holds
// "stream": true, X-Events events (200), X-Pause-Ms milliseconds (0) apart, each written by itself.
#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <csignal>
#include <memory>
#include <vector>

#include "nereus/http/server.h"

namespace {

using namespace nereus;

constexpr std::string_view kAnswer =
    R"({"id":"cmpl-1","object":"text_completion","created":1,"model":"stub","choices":[{"index":0,"text":" four",)"
    R"("logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":4,"completion_tokens":1,"total_tokens":5}})";
constexpr std::string_view kModels =
    R"({"object":"list","data":[{"id":"stub","object":"model","parent":null}]})";
constexpr std::string_view kEvent =
    "data: "
    "{\"id\":\"cmpl-1\",\"object\":\"text_completion\",\"model\":\"stub\",\"choices\":[{\"index\":0,\"text\":"
    "\" four\",\"finish_reason\":null}]}\n\n";

int number(const http::Headers& headers, std::string_view name, int otherwise) {
  const std::string_view text = headers.get(name);
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

http::Task<> stream(http::Loop& loop, http::Exchange& exchange) {
  const int events = number(exchange.request().headers, "X-Events", 200);
  const int pause = number(exchange.request().headers, "X-Pause-Ms", 0);
  http::Headers headers;
  headers.add("Content-Type", "text/event-stream");
  if (!co_await exchange.begin(200, headers)) co_return;
  for (int i = 0; i < events; ++i) {
    const auto stop = exchange.stop();
    if (pause > 0 && !co_await loop.sleep(1e-3 * pause, stop)) co_return;
    if (!co_await exchange.write(kEvent)) co_return;
  }
  (void)co_await exchange.write("data: [DONE]\n\n");
  (void)co_await exchange.end();
}

http::Task<> answer(http::Loop& loop, http::Exchange& exchange) {
  const bool models = exchange.request().target == "/v1/models";
  const auto body = co_await exchange.body();
  if (!body) co_return;
  if (body->find("\"stream\": true") != std::string::npos) {
    co_await stream(loop, exchange);
    co_return;
  }
  http::Response response{
      200, {{"Content-Type", "application/json"}}, std::string(models ? kModels : kAnswer)};
  (void)co_await exchange.respond(std::move(response));
}

/// One server on a loop of its own.
struct Stub {
  http::Loop loop;
  std::unique_ptr<http::Server> server;
};

}  // namespace

int main(int argc, char** argv) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<std::unique_ptr<Stub>> stubs;
  for (int i = 1; i < argc; ++i) {
    auto stub = std::make_unique<Stub>();
    http::ServerOptions options;
    options.port = static_cast<uint16_t>(std::atoi(argv[i]));
    auto server = http::Server::start(
        stub->loop, options,
        [loop = &stub->loop](http::Exchange& exchange) -> http::Task<> { co_await answer(*loop, exchange); });
    if (!server) {
      fmt::print(stderr, "proxy_stub: {}\n", server.error().message);
      return 1;
    }
    stub->server = std::move(*server);
    stubs.push_back(std::move(stub));
  }
  fmt::print("ready\n");
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  return 0;
}
