#pragma once

#include <string>
#include <vector>

#include "nereus/control/observation.h"

namespace nereus::control {

/// How one stage used its devices, from timestamps.
struct StageUse {
  plan::ModelStage what;
  double seconds = 0;  ///< from its first rank's start to its last rank's end
  double waiting = 0;  ///< share of its devices' time within the stage in which they waited for slower ranks
};

struct Usage {
  double idle = 0;  ///< share of all devices' time in which they worked on nothing
  std::vector<StageUse> stages = {};
  size_t bottleneck = 0;  ///< index in `stages`: the stage that takes most of the busiest device's time
  std::string text = {};
};

/// Where a step's time went. Idle time is what no span of a device covers between the first start and the
/// last end of the step (overlapping spans count once), so that stages which run at the same time are not
/// added up. Stages whose ranks were not reported count as one device of their own. REQUIRES: stages is not
/// empty.
Usage usage(const std::vector<StageObservation>& stages);

}  // namespace nereus::control
