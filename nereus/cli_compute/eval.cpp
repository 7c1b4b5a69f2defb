#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "nereus/cli_compute/commands.h"
#include "nereus/runtime/eval_job.h"

namespace nereus::cli_compute {

namespace {

struct Options {
  runtime::EvalCommand command;
  bool json = false;
};

int run(const Options& options) {
  auto result = runtime::evaluate(options.command);
  if (!result) return cli::report(pass(result));
  for (const auto& warning : result->warnings) std::cerr << "nereus: warning: " << warning << "\n";
  std::cout << (options.json ? runtime::to_json(*result).dump() : runtime::describe(*result)) << "\n";
  return cli::kSuccess;
}

}  // namespace

void add_eval(CLI::App& app, const config::Overrides& overrides, cli::Action& action) {
  auto options = std::make_shared<Options>();
  options->command.overrides = overrides;
  CLI::App* eval = app.add_subcommand(cli::kEval.name, cli::kEval.summary);
  eval->footer(
      "  nereus eval job.toml                        the job's model before training\n"
      "  nereus eval runs/addition                   what that run has trained\n"
      "  nereus eval job.toml --adapter DIR          the model with an adapter\n"
      "  nereus eval job.toml --eval.samples 500     any key of the job can be set\n\n"
      "Accuracy is the share of answers whose first reward is at least 1, with a 95 % interval.");
  eval->add_option("job", options->command.job, "Job file, or a run's folder")
      ->required()
      ->option_text("JOB");
  eval->add_option("--adapter", options->command.adapter, "PEFT folder of a LoRA adapter")
      ->option_text("DIR");
  eval->add_flag("--json", options->json, "Print one line of JSON");
  eval->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace nereus::cli_compute
