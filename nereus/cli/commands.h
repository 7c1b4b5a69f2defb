#pragma once

#include <array>
#include <string>

#include "nereus/base/result.h"
#include "nereus/cli/command_line.h"

namespace nereus::cli {

/// A command as `nereus --help` lists it.
struct Listing {
  const char* name;
  const char* summary;
};

inline constexpr Listing kTrain{"train", "Train a model by a job file"};
inline constexpr Listing kEval{"eval", "Score a model on held-out prompts of a job"};
inline constexpr Listing kGenerate{"generate", "Sample answers of a model"};
inline constexpr Listing kServe{"serve",
                                "Serve a model by OpenAI's API, with LoRA adapters loaded at runtime"};
inline constexpr Listing kModel{"model", "Make, convert, merge and inspect checkpoints"};
inline constexpr Listing kProfile{"profile", "Measure this machine's processor into a cluster file"};

/// The commands of the program nereus-compute, which stands beside this one: they need LibTorch or the CPU
/// kernels, and loading those takes longer than all that the other commands do.
inline constexpr std::array kComputing = {kTrain, kEval, kGenerate, kServe, kModel, kProfile};

/// Each adds its subcommand to `app` and sets `action` when it was the one typed. `overrides` are the
/// `--section.key value` options, taken off the command line before.
void add_tokenize(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_proxy(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, const config::Overrides& overrides, Action& action);

/// A bearer token from an environment variable, so that it is on no command line; "" where no variable is
/// named.
Result<std::string> token_of(const std::string& variable);

}  // namespace nereus::cli
