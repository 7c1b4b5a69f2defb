#pragma once

#include "nereus/plan/model_size.h"
#include "nereus/plan/time.h"
#include "nereus/plan/work.h"

namespace nereus::plan {

/// stage_time, but for leaving when idle, with what all placements of a model-stage and layout have in
/// common known: the average sequence, work_of(job.lengths, 1), the sizes of the ranks by pipeline index, and
/// the factors of their regime.
StageTime stage_cost(const Job& job, const Work& sequence, const std::vector<RankSize>& sizes,
                     const Placement& placement, const Links& links, double kv_pool_bytes,
                     const Calibration& calibration, const RegimeFactors& factors);

/// Seconds of fetching and storing `bytes`, the idle state of the placement's fullest rank, where it leaves
/// its devices when idle. What was trained is written back after its turn.
double offload_time(const Placement& placement, double bytes, const Links& links);

}  // namespace nereus::plan
