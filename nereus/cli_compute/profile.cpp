#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "nereus/cli_compute/commands.h"
#include "nereus/formats/atomic_file.h"
#include "nereus/metrics/count_progress.h"
#include "nereus/runtime/machine_profile.h"

namespace nereus::cli_compute {

namespace {

struct Options {
  runtime::ProfileOptions profile;
  std::filesystem::path out;
  int32_t listen = -1;
};

Status listen(uint16_t port) {
  auto server = runtime::ProbeServer::listen(port);
  if (!server) return pass(server);
  std::cerr << "listening on port " << server->port() << "; nereus profile --to HOST:" << server->port()
            << " on the other machine, Ctrl-C here\n";
  while (true)
    if (const auto served = server->serve_one(); !served)
      std::cerr << "nereus: warning: " << served.error().message << "\n";
}

Status profile(const Options& options) {
  const SteadyClock clock;
  metrics::CountProgress bar(std::cerr, clock, metrics::TerminalOptions::detect(STDERR_FILENO), "measuring",
                             5);
  const auto profile = runtime::profile_machine(
      options.profile, clock, [&](int64_t done, int64_t total) { bar.update(5 * done / total); });
  bar.end();
  if (!profile) return pass(profile);
  const std::string text = runtime::cluster_file(*profile);
  if (options.out.empty()) {
    std::cout << text;
    return {};
  }
  return formats::write_file_atomically(options.out, text);
}

}  // namespace

void add_profile(CLI::App& app, cli::Action& action) {
  auto options = std::make_shared<Options>();
  auto& profiled = options->profile;
  CLI::App* command = app.add_subcommand(cli::kProfile.name, cli::kProfile.summary);
  command->footer(
      "  nereus profile --out machine.toml                 products, memory, copies: some seconds\n"
      "  nereus profile --listen 7000                      on another machine, then here:\n"
      "  nereus profile --to other:7000 --out machine.toml  also the network between the two\n\n"
      "Leave the machine alone while it measures. GPUs are not measured: nereus plan knows the usual ones by "
      "name.");
  command->add_option("--out", options->out, "File to write; standard output without it")
      ->option_text("FILE.toml");
  command->add_option("--name", profiled.name, "Name of the machine; its host name without it")
      ->option_text("NAME");
  command->add_option("--devices", profiled.devices, "Slices of the processor that serve as devices")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_option("--seconds", profiled.seconds, "Seconds of each measurement")
      ->check(CLI::Range(0.01, 60.0))
      ->capture_default_str();
  auto* to = command->add_option("--to", profiled.network, "Measure the network to a machine that listens")
                 ->option_text("HOST:PORT");
  command->add_option("--listen", options->listen, "Answer the network measurements of other machines")
      ->check(CLI::Range(0, 65535))
      ->option_text("PORT")
      ->excludes(to);
  command->callback([options, &action] {
    action = [options] {
      const bool listens = options->listen >= 0;
      return cli::report(listens ? listen(static_cast<uint16_t>(options->listen)) : profile(*options));
    };
  });
}

}  // namespace nereus::cli_compute
