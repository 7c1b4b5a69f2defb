#pragma once

#include <cstdint>
#include <string>

namespace nereus::control {

struct GateOptions {
  double min_gain = 0.04;      ///< that the lower confidence bound of the relative gain must exceed
  double confidence = 1.0;     ///< standard deviations below the expected gain
  double margin_steps = 0.5;   ///< steps' worth of time that a change must save beyond its cost
  int64_t cool_down = 5;       ///< steps after a change in which no other is made unless forced
  double warm_up_steps = 0.2;  ///< steps' worth of time lost to slower steps after a change
};

/// What a change is judged by. Times are seconds.
struct Proposal {
  double stay = 0, change = 0;     ///< of one step under the current plan and under the new one
  double deviation = 0;            ///< standard deviation of log(change / stay)
  double transition = 0;           ///< of the transition, in which nothing else runs
  double steps_left = 0;           ///< of the run
  double steps_to_change = 0;      ///< expected, until the devices change again
  int64_t steps_since_change = 0;  ///< since the plan was last changed; large where it never was
  double widening = 0;             ///< relative: how far earlier predictions were too good
};

struct Verdict {
  bool change = false;
  double saving = 0;   ///< seconds over the horizon, cost subtracted
  double horizon = 0;  ///< steps
  std::string reason = {};
};

/// Whether a change that nothing forces is worth it: it has to pay for itself within the lesser of the steps
/// left and the steps until the devices change again, and to be better beyond doubt. Pure.
Verdict judge(const Proposal& proposal, const GateOptions& options);

}  // namespace nereus::control
