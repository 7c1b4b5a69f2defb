#pragma once

#include "nereus/plan/model_size.h"
#include "nereus/plan/time.h"
#include "nereus/plan/work.h"

namespace nereus::plan {

/// Seconds of training or inference of one model-stage, before factors and offsets of its regime. `sequence`:
/// the average one, work_of(job.lengths, 1). `sizes`: rank_sizes of the model in the placement's layout.
/// REQUIRES: placement.what.stage is train or infer.
StageTime pass_time(const Job& job, const Work& sequence, const std::vector<RankSize>& sizes,
                    const Placement& placement, const Links& links, const Calibration& calibration,
                    const RegimeFactors& factors);

/// What is left of `communication` seconds beside `compute` seconds that run at the same time, both slowed by
/// `slowdown` while they do.
double exposed(double communication, double compute, double slowdown);

}  // namespace nereus::plan
