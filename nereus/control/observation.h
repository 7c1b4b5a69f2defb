#pragma once

#include <cstdint>
#include <vector>

#include "nereus/plan/job.h"

namespace nereus::control {

/// When one rank worked on one model-stage: seconds since the run began.
struct RankSpan {
  int32_t device = 0;
  double start = 0, end = 0;
};

/// One model-stage of one step. The stage lasts from `start` until its slowest rank has finished.
struct StageObservation {
  plan::ModelStage what;
  double start = 0, end = 0;         ///< seconds since the run began
  std::vector<RankSpan> ranks = {};  ///< empty: not reported

  double seconds() const { return end - start; }
};

/// The most that one device held within the step.
struct DeviceMemory {
  int32_t device = 0;
  double peak = 0, capacity = 0;  ///< bytes
};

/// What one step of a real job reports: nothing that only a simulator could know.
struct Observation {
  int64_t step = 0;  ///< the step that has just ended
  int64_t steps_left = 0;
  double now = 0;         ///< seconds since the run began, at the step's end
  double seconds = 0;     ///< of the step, without the transition before it
  double transition = 0;  ///< seconds of the transition before it, 0 where there was none
  std::vector<StageObservation> stages = {};
  plan::Lengths lengths = {};  ///< of the step's completions
  std::vector<DeviceMemory> memory = {};
};

}  // namespace nereus::control
