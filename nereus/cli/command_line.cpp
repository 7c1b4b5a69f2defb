#include "nereus/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <new>
#include <utility>

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

/// Whether the command reads a file whose keys can be set on the command line.
bool takes_keys(const std::string& command) {
  constexpr std::array kCommands = {"train", "eval", "simulate"};
  return std::ranges::find(kCommands, command) != kCommands.end();
}

bool has_command(CLI::App& app, const std::string& name) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  return std::ranges::any_of(commands, [&](const CLI::App* command) { return command->get_name() == name; });
}

int usage_error(const std::string& message) {
  std::cerr << "nereus: error: " << message << "\n";
  return kUsage;
}

}  // namespace

std::string CommandLine::command() const {
  const auto word =
      std::ranges::find_if(arguments, [](const std::string& argument) { return !argument.starts_with('-'); });
  return word == arguments.end() ? "" : *word;
}

int report(const Status& status) {
  if (status) return kSuccess;
  std::cerr << "nereus: error: " << status.error().message << "\n";
  return kFailure;
}

int run(CommandLine line, const AddCommands& add) {
  auto& [arguments, overrides] = line;
  CLI::App app(kDescription, "nereus");
  app.set_version_flag("--version", std::string("nereus ") + NEREUS_VERSION);
  app.require_subcommand(1);
  Action action;
  add(app, overrides, action);
  const std::string command = line.command();
  if (!command.empty() && !has_command(app, command))
    return usage_error("unknown command " + command + "; nereus --help lists the commands");
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(arguments);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return usage_error(std::string(error.what()) + "\nRun with --help for more information.");
  }
  if (!overrides.empty() && !takes_keys(command))
    return usage_error("--" + overrides.front().first +
                       " is a key of a file; only train, eval and simulate take those");
  return action();
}

int run_main(int argc, char** argv, const std::function<int(CommandLine)>& body) {
  try {
    CommandLine line{{argv + 1, argv + argc}, {}};
    auto overrides = config::take_overrides(line.arguments);
    if (!overrides) return report(pass(overrides)), kUsage;
    line.overrides = std::move(*overrides);
    return body(std::move(line));
  } catch (const std::bad_alloc&) {
    std::cerr << "nereus: error: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "nereus: error: " << error.what() << "\n";
  }
  return kFailure;
}

}  // namespace nereus::cli
