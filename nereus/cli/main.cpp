#include <CLI/CLI.hpp>
#include <algorithm>

#include "nereus/cli/commands.h"
#include "nereus/cli/computing.h"

namespace nereus::cli {

namespace {

bool computes(const std::string& command) {
  return std::ranges::any_of(kComputing, [&](const Listing& listing) { return listing.name == command; });
}

void add_commands(CLI::App& app, const config::Overrides& overrides, Action& action) {
  for (const Listing& listing : kComputing) app.add_subcommand(listing.name, listing.summary);
  add_tokenize(app, action);
  add_plan(app, action);
  add_simulate(app, overrides, action);
  add_proxy(app, action);
}

}  // namespace

}  // namespace nereus::cli

int main(int argc, char** argv) {
  using namespace nereus::cli;
  return run_main(argc, argv, [argv](const CommandLine& line) {
    const std::string command = line.command();
    if (!computes(command)) return run(line, add_commands);
    return report(tl::unexpected(become_compute_program(command, argv)));
  });
}
