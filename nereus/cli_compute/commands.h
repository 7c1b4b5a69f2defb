#pragma once

#include "nereus/cli/commands.h"
#include "nereus/kernels/matrix.h"

namespace nereus::cli_compute {

/// Each adds its subcommand to `app` and sets `action` when it was the one typed. `overrides` are the job's
/// `--section.key value` options, taken off the command line before.
void add_train(CLI::App& app, const config::Overrides& overrides, cli::Action& action);
void add_eval(CLI::App& app, const config::Overrides& overrides, cli::Action& action);
void add_generate(CLI::App& app, cli::Action& action);
void add_serve(CLI::App& app, cli::Action& action);
void add_model(CLI::App& app, cli::Action& action);
void add_profile(CLI::App& app, cli::Action& action);

/// --dtype and --matmul-precision.
void add_arithmetic(CLI::App& command, bool& bf16, kernels::Precision& matmul_precision);

}  // namespace nereus::cli_compute
