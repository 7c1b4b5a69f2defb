#pragma once

#include "nereus/plan/time.h"
#include "nereus/plan/work.h"

namespace nereus::plan {

/// stage_time with the average sequence known: work_of(job.lengths, 1). For those who price many placements.
StageTime stage_cost(const Job& job, const Work& sequence, const Placement& placement, const Links& links,
                     double kv_pool_bytes, const Calibration& calibration);

/// Seconds of fetching and storing the state of a placement that leaves its devices when idle.
double offload_time(const Job& job, const Placement& placement, const Links& links);

}  // namespace nereus::plan
