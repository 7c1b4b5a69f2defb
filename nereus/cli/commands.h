#pragma once

#include <functional>

#include "nereus/config/overrides.h"
#include "nereus/kernels/matrix.h"

namespace CLI {
class App;
}

namespace nereus::cli {

/// What a parsed command line does; returns the exit code.
using Action = std::function<int()>;

/// Each adds its subcommand to `app` and sets `action` when it was the one typed. `overrides` are the job's
/// `--section.key value` options, taken off the command line before.
void add_train(CLI::App& app, const config::Overrides& overrides, Action& action);
void add_eval(CLI::App& app, const config::Overrides& overrides, Action& action);
void add_generate(CLI::App& app, Action& action);
void add_tokenize(CLI::App& app, Action& action);
void add_model(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_proxy(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, const config::Overrides& overrides, Action& action);

/// --dtype and --matmul-precision.
void add_arithmetic(CLI::App& command, bool& bf16, kernels::Precision& matmul_precision);

/// A bearer token from an environment variable, so that it is on no command line; "" where no variable is
/// named.
Result<std::string> token_of(const std::string& variable);

/// Exit codes.
inline constexpr int kSuccess = 0, kFailure = 1, kUsage = 2, kInterrupted = 130;

/// 0, or 1 with "nereus: error: MESSAGE" on standard error.
int report(const Status& status);

}  // namespace nereus::cli
