#pragma once

#include <cstdint>
#include <vector>

#include "nereus/plan/time.h"

namespace nereus::control {

/// `plan::predict` of one plan, again and again: what depends on neither lengths nor calibration (links, room
/// for KV, devices in common) is found once, which for a thousand devices is most of the work. Immutable.
class PlanPrice {
 public:
  /// REQUIRES: the plan fits.
  PlanPrice(const cluster::Cluster& cluster, const plan::Job& job, const plan::Plan& plan);

  /// The step under the lengths of `job`, which otherwise is the constructor's.
  plan::StepTime at(const plan::Job& job, const plan::Calibration& calibration) const;

 private:
  struct Stage {
    plan::Placement placement;
    plan::Links links;
    double kv_pool = 0;  // bytes
    uint32_t conflicts = 0;
  };

  std::vector<Stage> stages_;
  double weight_sync_ = 0;  // seconds
};

}  // namespace nereus::control
