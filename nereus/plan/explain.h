#pragma once

#include <vector>

#include "nereus/plan/options.h"
#include "nereus/plan/search.h"

namespace nereus::plan {

/// Options of one model-stage on one grid; none where nothing fits.
struct Family {
  ModelStage what;
  const Grid* grid = nullptr;
  const std::vector<Option>* options = nullptr;
};

/// Why the families other than those of `chosen` were set aside, at most `count`: those that do not fit with
/// the device, the component and what would help; the others with their time against the chosen one's.
/// `chosen` may be null; then it is also said what the fastest of each lack when they are together.
std::vector<Rejection> explain(const cluster::Cluster& cluster, const Job& job,
                               const Calibration& calibration, const std::vector<Family>& families,
                               const Plan* chosen, size_t count);

}  // namespace nereus::plan
