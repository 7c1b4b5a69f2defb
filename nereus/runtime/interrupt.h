#pragma once

namespace nereus::runtime {

/// While it lives, the first SIGINT or SIGTERM is noted and the second ends the process at once with exit
/// code 130. One at a time; `requested` may be asked from any thread.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  bool requested() const;
};

}  // namespace nereus::runtime
