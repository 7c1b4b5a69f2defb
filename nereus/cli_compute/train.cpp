#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "nereus/cli_compute/commands.h"
#include "nereus/runtime/reference_page.h"
#include "nereus/runtime/train_job.h"

namespace nereus::cli_compute {

namespace {

struct Options {
  runtime::TrainCommand command;
  bool resume = false, overwrite = false, print_config = false, print_reference = false;
};

int run(Options& options) {
  if (options.print_reference) return std::cout << runtime::reference_page(), cli::kSuccess;
  if (options.command.job_file.empty())
    return std::cerr << "nereus: error: train: JOB is required\n", cli::kUsage;
  if (options.print_config) return cli::report(runtime::print_config(options.command, std::cout));
  if (options.resume) options.command.on_existing = runtime::OnExisting::resume;
  if (options.overwrite) options.command.on_existing = runtime::OnExisting::overwrite;
  auto outcome = runtime::train(options.command);
  if (!outcome) return cli::report(pass(outcome));
  return *outcome == runtime::TrainOutcome::finished ? cli::kSuccess : cli::kInterrupted;
}

}  // namespace

void add_train(CLI::App& app, const config::Overrides& overrides, cli::Action& action) {
  auto options = std::make_shared<Options>();
  options->command.overrides = overrides;
  CLI::App* train = app.add_subcommand(cli::kTrain.name, cli::kTrain.summary);
  train->footer(
      "Any key of the job file can be set here, by its section and name:\n"
      "  nereus train job.toml --train.learning_rate 1e-5 --run.steps 200 --run.name second\n"
      "  nereus train job.toml --resume           go on after the newest checkpoint\n"
      "  nereus train job.toml --print-config     all keys with their documentation\n\n"
      "The run is in runs/NAME: job.toml, metrics.jsonl, completions/, checkpoints/, and at the end "
      "adapter/\n"
      "(or model/). Ctrl-C finishes the step and saves; a second one stops at once.");
  train->add_option("job", options->command.job_file, "Job file (TOML); docs/configuration.md lists its keys")
      ->option_text("JOB");
  auto* resume = train->add_flag("--resume", options->resume, "Go on with the run in the run's folder");
  train->add_flag("--overwrite", options->overwrite, "Replace the run in the run's folder")->excludes(resume);
  train->add_flag("--print-config", options->print_config, "Print the whole job, with defaults, and stop");
  train->add_flag("--print-reference", options->print_reference, "Print docs/configuration.md and stop");
  train->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace nereus::cli_compute
