#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "nereus/base/clock.h"
#include "nereus/metrics/terminal.h"

namespace nereus::metrics {

/// Shows one piece of counted work (an evaluation, many prompts): a bar with the time left on a terminal,
/// elsewhere a line every ten seconds. Not thread-safe.
class CountProgress {
 public:
  CountProgress(std::ostream& out, const Clock& clock, TerminalOptions options, std::string name,
                int64_t total);
  void update(int64_t done);
  /// Removes the bar.
  void end();

 private:
  const Clock& clock_;
  Terminal terminal_;
  std::string name_;
  int64_t total_;
  double started_, shown_at_;
};

}  // namespace nereus::metrics
