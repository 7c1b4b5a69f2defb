#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>

#include "nereus/cli_compute/commands.h"
#include "nereus/runtime/serve_job.h"

namespace nereus::cli_compute {

namespace {

struct Options {
  runtime::ServeCommand command;
  std::string token_env;
  std::vector<std::string> adapters;
};

/// "NAME=FOLDER".
Status add_adapter(runtime::ServeCommand& command, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    return fail("--adapter: expected NAME=FOLDER, found {}", text);
  command.adapters.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  return {};
}

int run(Options& options) {
  for (const auto& text : options.adapters)
    if (auto status = add_adapter(options.command, text); !status) return cli::report(status), cli::kUsage;
  auto token = cli::token_of(options.token_env);
  if (!token) return cli::report(pass(token));
  options.command.server.token = std::move(*token);
  return cli::report(runtime::serve(options.command, std::cout));
}

void add_engine(CLI::App& serve, Options& options) {
  auto& command = options.command;
  add_arithmetic(serve, command.bf16, command.matmul_precision);
  serve.add_option("--threads", command.threads, "Threads that compute; 0: as many as the process may use")
      ->check(CLI::NonNegativeNumber);
  serve.add_option("--max-running", command.max_running, "Completions that decode at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  serve
      .add_option(
          "--burst-ms", command.burst_ms,
          "An idle server that gets a request waits a fifth of this for one more, and so long in all, so "
          "that requests that come together begin together; 0: not at all")
      ->check(CLI::Range(0.0, 60e3))
      ->capture_default_str();
  serve
      .add_option(
          "--prefill-tokens", command.prefill_tokens,
          "Prompt tokens of a step. A longer prompt is computed in several, and answers under way get "
          "a token in each: fewer make streams smoother, more take fewer steps")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  serve.add_option("--kv-memory-mb", command.kv_memory_mb, "Memory for keys and values, in MiB")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  serve
      .add_option("--prefix-cache", command.prefix_cache,
                  "Keep keys and values of prompts and answers for prompts that begin alike")
      ->capture_default_str();
  serve.add_option("--max-requests", command.max_requests, "Requests that run or wait; more get status 429")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  serve.add_option("--seed", command.seed, "Seed of requests that bring none")->capture_default_str();
}

void add_adapters(CLI::App& serve, Options& options) {
  auto& command = options.command;
  serve.add_option("--adapter", options.adapters, "LoRA adapter to load first (may be given several times)")
      ->option_text("NAME=FOLDER")
      ->take_all();
  serve.add_option("--adapter-slots", command.adapter_slots, "Adapters at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  serve.add_option("--adapter-root", command.adapter_root,
                   "Folder from within which clients may load adapters. Default: any folder");
}

void add_network(CLI::App& serve, Options& options) {
  auto& server = options.command.server;
  serve.add_option("--host", server.host, "Address to listen at; 0.0.0.0: all")->capture_default_str();
  serve.add_option("--port", server.port, "0: any free one")->capture_default_str();
  serve.add_option("--token-env", options.token_env,
                   "Environment variable with the bearer token that requests must carry. Default: no token");
  serve.add_option("--certificate", server.certificate, "PEM file, for TLS");
  serve.add_option("--key", server.key, "PEM file of its key");
  serve.add_option("--grace", options.command.grace_seconds, "Seconds for running requests, after Ctrl-C")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

}  // namespace

void add_serve(CLI::App& app, cli::Action& action) {
  auto options = std::make_shared<Options>();
  options->command.server.port = 8000;
  auto* serve = app.add_subcommand(cli::kServe.name, cli::kServe.summary);
  serve->add_option("model", options->command.model, "Hugging Face folder or .gguf file")->required();
  serve->add_option("--name", options->command.name, "Name of the model for clients. Default: the file's");
  add_engine(*serve, *options);
  add_adapters(*serve, *options);
  add_network(*serve, *options);
  serve->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace nereus::cli_compute
