#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::tasks {

/// A running command with pipes to its standard streams, in a process group of its own (so that Ctrl-C
/// reaches this program alone, and that its children end with it). Not thread-safe. Destroying it kills the
/// group.
class ChildProcess {
 public:
  /// Starts `command` in `folder`. A program with "/" is taken relative to `folder`; one without is looked up
  /// in PATH, then in `folder`. Error: not found, not executable, or no process could be made.
  static Result<std::unique_ptr<ChildProcess>> start(const std::vector<std::string>& command,
                                                     const std::filesystem::path& folder);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  enum class State : uint8_t { alive, closed };

  /// Waits up to `timeout_s` for something to happen, then writes what the pipe takes of `input` (which is
  /// shortened) and appends what came to `output`, never waiting for one of them alone. `closed`: the command
  /// closed its output, or no longer reads while `input` is not empty.
  State exchange(std::string_view& input, std::string& output, double timeout_s);

  /// Kills the whole group, waits, and says how the command ended: "exited with status 3",
  /// "was killed by signal 11 (Segmentation fault)". A command that closed its pipes gets a moment to end
  /// itself.
  std::string end(bool at_once);

  /// The last lines of its standard error, at most 20, each indented on a line of its own; "" where there are
  /// none.
  std::string last_words() const;

 private:
  ChildProcess(pid_t pid, int input, int output, int errors);
  bool drain(int& file, std::string& into);
  bool feed(std::string_view& input);
  void keep_tail();

  pid_t pid_;
  int input_, output_, errors_;
  std::string error_text_;
  std::string ending_;  // how it ended; empty while it runs
};

}  // namespace nereus::tasks
