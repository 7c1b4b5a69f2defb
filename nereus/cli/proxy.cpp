#include "nereus/serving/proxy.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "nereus/cli/commands.h"
#include "nereus/http/server.h"

namespace nereus::cli {

namespace {

struct Options {
  std::vector<std::string> backends;
  std::string backend_token_env, token_env;
  serving::ProxyOptions proxy;
  http::ServerOptions server;
  double grace_seconds = 10;
};

/// "URL" of one of our servers, or "KIND=URL".
Result<serving::BackendOptions> parse_backend(const std::string& text, const std::string& token) {
  serving::BackendOptions backend;
  backend.token = token;
  const size_t equals = text.find('=');
  const bool named = equals != std::string::npos && equals < text.find(':');
  if (named) {
    const auto kind = serving::backend_kind(text.substr(0, equals));
    if (!kind) return pass(kind);
    backend.kind = *kind;
  }
  auto url = http::Url::parse(named ? text.substr(equals + 1) : text);
  if (!url) return pass(url);
  backend.url = std::move(*url);
  return backend;
}

/// Each stream takes two file descriptors.
void raise_file_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Status serve(Options& options) {
  // Other threads inherit that these signals are blocked; this one waits for the first, and dies of the
  // second.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  raise_file_limit();
  spdlog::set_default_logger(spdlog::stderr_logger_mt("proxy"));
  http::Loop loop;
  serving::Proxy proxy(loop, options.proxy);
  auto server = http::Server::start(loop, options.server,
                                    [&proxy](http::Exchange& exchange) { return proxy.handle(exchange); });
  if (!server) return pass(server);
  proxy.start();
  std::cout << "nereus proxy at " << (*server)->url() << " in front of " << options.backends.size()
            << (options.backends.size() == 1 ? " server" : " servers") << std::endl;
  int signal = 0;
  sigwait(&signals, &signal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  std::cout << "ending: requests that run are finished first; once more to stop at once" << std::endl;
  (*server)->stop(options.grace_seconds);
  return {};
}

int run(Options& options) {
  const auto backend_token = token_of(options.backend_token_env);
  const auto token = token_of(options.token_env);
  if (!backend_token) return report(pass(backend_token));
  if (!token) return report(pass(token));
  options.server.token = *token;
  for (const auto& text : options.backends) {
    auto backend = parse_backend(text, *backend_token);
    if (!backend) return std::cerr << "nereus: error: --backend " << backend.error().message << "\n", kUsage;
    options.proxy.fleet.backends.push_back(std::move(*backend));
  }
  return report(serve(options));
}

void add_server(CLI::App& proxy, Options& options) {
  proxy.add_option("--host", options.server.host, "Address to listen at; 0.0.0.0 for all")
      ->capture_default_str();
  options.server.port = 8080;
  proxy.add_option("--port", options.server.port, "Port to listen at; 0: any free one")
      ->capture_default_str();
  proxy.add_option("--token-env", options.token_env, "Environment variable with the token that clients send")
      ->option_text("NAME");
  proxy
      .add_option("--backend-token-env", options.backend_token_env,
                  "Environment variable with the token for the servers")
      ->option_text("NAME");
  auto* certificate =
      proxy.add_option("--certificate", options.server.certificate, "PEM file for TLS")->option_text("FILE");
  auto* key =
      proxy.add_option("--key", options.server.key, "PEM file of its private key")->option_text("FILE");
  certificate->needs(key);
  key->needs(certificate);
  proxy
      .add_option("--authorities", options.proxy.fleet.authorities,
                  "PEM file of the authorities that vouch for https servers")
      ->option_text("FILE");
  proxy.add_option("--grace", options.grace_seconds, "Seconds that requests get to end on Ctrl-C")
      ->capture_default_str();
}

void add_behaviour(CLI::App& proxy, Options& options) {
  auto& fleet = options.proxy.fleet;
  proxy.add_option("--slots", fleet.adapter_slots, "Adapters that every server can hold at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  proxy
      .add_option("--canary", fleet.canary,
                  "Prompt to which every server must answer otherwise under a new adapter than without it")
      ->option_text("TEXT");
  proxy.add_option("--check-seconds", fleet.check_seconds, "Seconds between health checks")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  proxy.add_option("--answer-seconds", fleet.answer_seconds, "A health check that takes longer has failed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  proxy.add_option("--failures", fleet.failures, "Failures in a row that take a server out")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  proxy
      .add_option("--max-ahead", options.proxy.routing.max_ahead,
                  "Requests that a server with the prefix may be ahead of the least loaded")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  proxy
      .add_option("--ahead-share", options.proxy.routing.ahead_share,
                  "Or this share of the servers' mean load, where that is more")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  proxy.add_option("--block-tokens", options.proxy.routing.block_tokens, "Tokens of a block, for routing")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  proxy.add_option("--max-running", options.proxy.max_running, "Requests at once; more get status 429")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace

void add_proxy(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* proxy = app.add_subcommand("proxy", "Spread requests over servers, and adapters to all of them");
  proxy->footer(
      "  nereus proxy --backend http://a:8000 --backend http://b:8000\n"
      "  nereus proxy --backend vllm=http://a:8000 --backend sglang=http://b:30000 --token-env TOKEN\n\n"
      "Requests that share a prefix go to the server that has it. POST /v1/load_lora_adapter loads an "
      "adapter "
      "on\nall servers or on none. Kinds of servers: nereus, vllm, sglang, openai.");
  proxy->add_option("--backend", options->backends, "A server (may be given several times)")
      ->required()
      ->option_text("[KIND=]URL")
      ->take_all();
  add_server(*proxy, *options);
  add_behaviour(*proxy, *options);
  proxy->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace nereus::cli
