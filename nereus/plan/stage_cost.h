#pragma once

#include "nereus/plan/model_size.h"
#include "nereus/plan/passes.h"
#include "nereus/plan/time.h"
#include "nereus/plan/work.h"

namespace nereus::plan {

/// stage_time of placements of one model-stage in one layout, but for leaving when idle, with what they have
/// in common known. Not thread-safe.
class StageTimes {
 public:
  /// All outlive this. `sequence`: the average one, work_of(job.lengths, 1). `sizes`: of the ranks, by
  /// pipeline index. `factors`: of the regime.
  StageTimes(const Job& job, const Work& sequence, const std::vector<RankSize>& sizes, const Links& links,
             const Calibration& calibration, const RegimeFactors& factors)
      : job_(job),
        links_(links),
        calibration_(calibration),
        factors_(factors),
        passes_(job, sequence, sizes, links, calibration, factors) {}

  StageTime of(const Placement& placement, double kv_pool_bytes);

 private:
  const Job& job_;
  const Links& links_;
  const Calibration& calibration_;
  const RegimeFactors& factors_;
  PassTimes passes_;
};

/// Seconds of fetching and storing `bytes`, the idle state of the placement's fullest rank, where it leaves
/// its devices when idle. What was trained is written back after its turn.
double offload_time(const Placement& placement, double bytes, const Links& links);

}  // namespace nereus::plan
