#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
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
  /// in PATH, then in `folder`. Its standard error is also appended to the file `error_log`, where that is
  /// not empty. Error: not found, not executable, no process could be made, or the log cannot be written.
  static Result<std::unique_ptr<ChildProcess>> start(const std::vector<std::string>& command,
                                                     const std::filesystem::path& folder,
                                                     const std::filesystem::path& error_log = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  enum class State : uint8_t { alive, ended };

  /// Waits up to `timeout_s` (at most a moment) for something to happen, then writes what the pipe takes of
  /// `input`, which is shortened, and appends what came to `output`; full pipes on either side block nothing.
  /// `ended`: the command ended or closed its output, and all of it has been read.
  State exchange(std::string_view& input, std::string& output, double timeout_s);

  /// Ends the whole group and says how the command ended: "exited with status 3",
  /// "was killed by signal 11 (Segmentation fault)". Unless `at_once`, it gets a moment to end by itself.
  std::string end(bool at_once);

  /// The last lines of its standard error, at most 20, each indented on a line of its own; "" where there are
  /// none.
  std::string last_words() const;

 private:
  ChildProcess(pid_t pid, int input, int output, int errors, std::ofstream error_log);
  void read_errors();
  void feed(std::string_view& input);
  bool has_exited() const;

  pid_t pid_;
  int input_, output_, errors_;  // -1 once closed
  std::ofstream error_log_;
  std::string error_text_;
  std::string ending_;  // how it ended; empty while it runs
};

}  // namespace nereus::tasks
