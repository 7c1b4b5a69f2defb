#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/clock.h"
#include "nereus/metrics/record.h"
#include "nereus/metrics/terminal.h"

namespace nereus::metrics {

/// Shows a training run: on a terminal a block that is drawn again (bar, time left, reward with its course,
/// lengths, times of the parts, what is going on now), elsewhere one line a step. It has no thread and draws
/// at most ten times a second, so that it costs nothing. Does not own stream or clock. Not thread-safe.
class Progress {
 public:
  Progress(std::ostream& out, const Clock& clock, TerminalOptions options);

  /// Before the first step: steps of the whole run, and those done before (a resumed run).
  void begin(int64_t total_steps, int64_t done_steps = 0);
  /// What goes on within the step, e.g. ("generate", 12, 64); `total` 0 where it is unknown. Live only.
  void activity(std::string_view name, int64_t done = 0, int64_t total = 0);
  /// A step is done, with its numbers under the names of `names.h`.
  void step(int64_t step, const Record& record);
  /// A line that stays: a warning, an evaluation, a checkpoint.
  void note(std::string_view text);
  /// The last state stays on the screen.
  void end();

 private:
  void draw(bool force);
  std::vector<std::string> block() const;
  std::string headline() const;
  std::string reward_line() const;
  std::string length_line() const;
  std::string time_line() const;
  std::string plain_line() const;
  double seconds_left() const;

  const Clock& clock_;
  Terminal terminal_;
  int64_t total_ = 0, first_ = 0, done_ = 0;
  double started_ = 0, drawn_at_ = -1;
  std::string activity_;
  int64_t activity_done_ = 0, activity_total_ = 0;
  Record last_;
  std::vector<double> rewards_;
};

}  // namespace nereus::metrics
