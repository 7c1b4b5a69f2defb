#pragma once

#include <optional>
#include <string>
#include <utility>

#include "nereus/simulator/fixed_plan.h"

namespace nereus::simulator {

/// The best plan for the first machines, of which the data axis alone follows the number of devices. Tuned:
/// within its tensor and pipeline sizes micro-batches, recomputation, ZeRO and leaving when idle are chosen
/// anew at every change by the planner's own model, so that it is as good as its kind can be. Where it does
/// not fit it waits.
class ElasticData final : public Policy {
 public:
  ElasticData(plan::Job job, bool tuned) : job_(std::move(job)), tuned_(tuned) {}

  std::string name() const override { return tuned_ ? "elastic-data-tuned" : "elastic-data"; }
  Answer begin(const View& view) override;
  Answer after_step(const View& view, const control::Observation& observation) override;
  Answer devices_changed(const View& view) override;
  Answer out_of_memory(const View& view, const OutOfMemory& what) override;

 private:
  Answer follow(const View& view);

  plan::Job job_;
  bool tuned_;
  std::optional<plan::Plan> first_;  ///< the plan that gives the sizes
  int32_t first_devices_ = 0;
  std::optional<plan::Plan> running_;
  cluster::Cluster before_;
};

}  // namespace nereus::simulator
