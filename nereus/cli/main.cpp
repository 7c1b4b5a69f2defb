#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <string_view>

#include "nereus/cli/commands.h"
#include "nereus/runtime/process.h"

namespace nereus::cli {

namespace {

constexpr const char* kDescription =
    "Nereus trains language models by reinforcement learning.\n\n"
    "  nereus train examples/addition.toml                 train by a job file\n"
    "  nereus eval runs/addition                           score what was trained\n"
    "  nereus generate MODEL \"Name three rivers.\"          sample an answer\n"
    "  nereus serve MODEL                                  answer requests of OpenAI's API\n"
    "  nereus plan cluster.toml job.toml                   how a job is best run on a cluster\n"
    "  nereus train --help                                 more on a command\n";

/// Whether the command works on a model's numbers, or measures how fast that is. Asked of its bare name,
/// before anything else is done.
bool computes(std::string_view command) {
  constexpr std::array kCommands = {"train", "eval", "generate", "serve", "profile"};
  return std::ranges::find(kCommands, command) != kCommands.end();
}

bool has_command(CLI::App& app, const std::string& name) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  return std::ranges::any_of(commands, [&](const CLI::App* command) { return command->get_name() == name; });
}

int run(std::vector<std::string> arguments) {
  auto overrides = config::take_overrides(arguments);
  if (!overrides) return report(pass(overrides)), kUsage;
  CLI::App app(kDescription, "nereus");
  app.set_version_flag("--version", std::string("nereus ") + NEREUS_VERSION);
  app.require_subcommand(1);
  Action action;
  add_train(app, *overrides, action);
  add_eval(app, *overrides, action);
  add_generate(app, action);
  add_tokenize(app, action);
  add_model(app, action);
  add_plan(app, action);
  add_profile(app, action);
  add_proxy(app, action);
  add_simulate(app, *overrides, action);
  add_serve(app, action);
  if (!arguments.empty() && !arguments[0].starts_with('-') && !has_command(app, arguments[0])) {
    std::cerr << "nereus: error: unknown command " << arguments[0] << "; nereus --help lists the commands\n";
    return kUsage;
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(arguments);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    std::cerr << "nereus: error: " << error.what() << "\nRun with --help for more information.\n";
    return kUsage;
  }
  const bool takes_keys =
      app.got_subcommand("train") || app.got_subcommand("eval") || app.got_subcommand("simulate");
  if (!overrides->empty() && !takes_keys) {
    std::cerr << "nereus: error: --" << overrides->front().first
              << " is a key of a file; only train, eval and simulate take those\n";
    return kUsage;
  }
  return action();
}

}  // namespace

int report(const Status& status) {
  if (status) return kSuccess;
  std::cerr << "nereus: error: " << status.error().message << "\n";
  return kFailure;
}

}  // namespace nereus::cli

int main(int argc, char** argv) {
  try {
    if (argc > 1 && nereus::cli::computes(argv[1])) nereus::runtime::prepare_for_computing(argv);
    return nereus::cli::run({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    std::cerr << "nereus: error: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "nereus: error: " << error.what() << "\n";
  }
  return nereus::cli::kFailure;
}
