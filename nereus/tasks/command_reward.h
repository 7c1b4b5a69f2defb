#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/tasks/reward.h"

namespace nereus::tasks {

/// What a reward command that fails does to the run.
enum class OnError : uint8_t {
  stop,    ///< the run ends with the error
  absent,  ///< completions without an answer have no reward; the error is a warning
};

struct CommandOptions {
  std::vector<std::string> command;  ///< program and arguments; a program without "/" is looked up in PATH
  double timeout_s = 60.0;           ///< longest time that one call (all completions of a step) may take
  int retries = 1;                   ///< times that a command which died is started again within one call
  OnError on_error = OnError::stop;
  std::filesystem::path error_log;  ///< its standard error is appended here; empty: only in error messages
};

/// Starts a command that scores completions, kept alive between calls: one JSON object a line on its standard
/// input, one a line on its standard output (docs/tasks.md has the protocol). Its standard error ends up in
/// error messages. A call that fails ends the command with all its children; the next call starts it again.
/// With OnError::absent three calls in a row without a single answer are an error all the same. Error: the
/// command is empty or not found. Destroying the reward ends the command.
Result<std::unique_ptr<Reward>> make_command_reward(std::string name, const CommandOptions& options,
                                                    const std::filesystem::path& folder);

}  // namespace nereus::tasks
