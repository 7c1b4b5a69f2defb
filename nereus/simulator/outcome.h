#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nereus::simulator {

/// One step that was kept.
struct StepPoint {
  double time = 0;  ///< seconds since the start, at its end
  int64_t step = 0;
  double seconds = 0;                         ///< of the step alone
  double generate = 0, infer = 0, train = 0;  ///< seconds from the first of its stages to the last
  int32_t devices = 0;                        ///< that the plan uses
  double memory = 0;                          ///< share of the fullest device's memory, at its peak
};

/// One change of plan.
struct ChangePoint {
  double time = 0;  ///< at its start
  int64_t step = 0;
  double seconds = 0;            ///< in which nothing else ran
  double slower = 0;             ///< seconds by which the step afterwards was slower
  double moved = 0, stored = 0;  ///< bytes between devices, and from storage
  int32_t devices = 0;           ///< that the new plan uses
  bool lost = false;             ///< machines of the old plan had gone
  std::string plan, reason;
};

/// The number of usable devices from `time` on.
struct DevicePoint {
  double time = 0;
  int32_t devices = 0;
};

/// What came of one policy under one seed.
struct Outcome {
  std::string policy;
  uint64_t seed = 0;
  int64_t steps = 0;    ///< done and kept
  double elapsed = 0;   ///< seconds
  double waiting = 0;   ///< seconds without a plan that fits
  double wasted = 0;    ///< seconds of steps that were cut short or had to be done again
  double starting = 0;  ///< seconds of the first start
  int64_t out_of_memory = 0, lost_steps = 0;
  int64_t samples = 0;        ///< of the steps that were kept
  int64_t preempted = 0;      ///< sequences whose KV did not fit any more
  double search_seconds = 0;  ///< of this machine's time, in the policy
  std::string first_plan;     ///< a line a placement
  std::string note;           ///< why it could not run, where it could not
  std::vector<StepPoint> points;
  std::vector<ChangePoint> changes;  ///< without the first start

  /// Everything that passed, for each step that was kept: waiting, changes and lost work included.
  double step_latency() const;
  /// Of the steps alone.
  double step_seconds() const;
  double samples_per_second() const;
  double change_seconds() const;  ///< pauses and slower steps afterwards
};

}  // namespace nereus::simulator
