#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace nereus::integration {

/// A `nereus` process of its own, with its output in files of `folder`. Killed with the object.
class Command {
 public:
  Command(const std::string& folder, const std::vector<std::string>& arguments);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  void signal(int number) const;
  /// Exit code, or 128 and the signal that killed it; nothing after `seconds`.
  std::optional<int> wait(double seconds = 120);
  std::string out() const;
  std::string err() const;

 private:
  std::string folder_;
  pid_t id_;
};

std::string text_of(const std::string& file);

/// Runs a line of the shell and gives all that it writes, errors too.
std::string output_of(const std::string& line);

}  // namespace nereus::integration
