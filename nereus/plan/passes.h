#pragma once

#include "nereus/plan/model_size.h"
#include "nereus/plan/time.h"
#include "nereus/plan/work.h"

namespace nereus::plan {

/// Seconds of training or inference of one model-stage in one layout, before factors and offsets of its
/// regime. Placements that follow one another and differ in nothing but what ZeRO shards and whether they
/// leave share the rest. Not thread-safe.
class PassTimes {
 public:
  /// All outlive this. `sequence`: the average one, work_of(job.lengths, 1). `sizes`: rank_sizes of the model
  /// in the layout.
  PassTimes(const Job& job, const Work& sequence, const std::vector<RankSize>& sizes, const Links& links,
            const Calibration& calibration, const RegimeFactors& factors)
      : job_(job),
        sequence_(sequence),
        sizes_(sizes),
        links_(links),
        calibration_(calibration),
        factors_(factors) {}

  /// REQUIRES: a stage that trains or infers; stage and layout are those of the first call.
  StageTime of(const Placement& placement);

 private:
  /// One micro-batch on the slowest pipeline stage, and on all others.
  struct Passes {
    int32_t micro_batch = 0;  ///< those of `micro_batch` sequences; 0: none yet
    bool recompute = false;
    double micro_batches = 0;                               ///< of a minibatch and replica
    double flops = 1;                                       ///< how often the forward pass is paid
    double compute = 0, communication = 0, all_others = 0;  ///< seconds
  };
  Passes passes_of(const Placement& placement) const;

  const Job& job_;
  const Work& sequence_;
  const std::vector<RankSize>& sizes_;
  const Links& links_;
  const Calibration& calibration_;
  const RegimeFactors& factors_;
  Passes passes_;
};

/// What is left of `communication` seconds beside `compute` seconds that run at the same time, both slowed by
/// `slowdown` while they do.
double exposed(double communication, double compute, double slowdown);

}  // namespace nereus::plan
