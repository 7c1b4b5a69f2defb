#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/config/overrides.h"

namespace CLI {
class App;
}

namespace nereus::cli {

/// What a parsed command line does; returns the exit code.
using Action = std::function<int()>;

/// Exit codes.
inline constexpr int kSuccess = 0, kFailure = 1, kUsage = 2, kInterrupted = 130;

/// 0, or 1 with "nereus: error: MESSAGE" on standard error.
int report(const Status& status);

/// What was typed after the program's name, with the keys of files apart.
struct CommandLine {
  std::vector<std::string> arguments;
  config::Overrides overrides;

  /// The first argument that is no option; "" where there is none.
  std::string command() const;
};

/// Adds a program's subcommands to `app`; the one typed sets `action`.
using AddCommands = std::function<void(CLI::App& app, const config::Overrides& overrides, Action& action)>;

/// Parses the line by the commands that `add` adds, and does what it says. Returns the exit code.
int run(CommandLine line, const AddCommands& add);

/// A program's `main`: parses the line, calls `body`, and returns its exit code. What it throws is reported.
int run_main(int argc, char** argv, const std::function<int(CommandLine)>& body);

}  // namespace nereus::cli
