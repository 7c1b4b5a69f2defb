#include <CLI/CLI.hpp>

#include "nereus/cli/computing.h"
#include "nereus/cli_compute/commands.h"

namespace nereus::cli_compute {

namespace {

void add_commands(CLI::App& app, const config::Overrides& overrides, cli::Action& action) {
  add_train(app, overrides, action);
  add_eval(app, overrides, action);
  add_generate(app, action);
  add_serve(app, action);
  add_model(app, action);
  add_profile(app, action);
}

}  // namespace

}  // namespace nereus::cli_compute

int main(int argc, char** argv) {
  using namespace nereus;
  cli::forget_spinning();
  return cli::run_main(
      argc, argv, [](const cli::CommandLine& line) { return cli::run(line, cli_compute::add_commands); });
}
