#pragma once

#include <functional>
#include <optional>
#include <string>

#include "nereus/simulator/policy.h"

namespace nereus::simulator {

/// A plan for a cluster, or why there is none.
using Chooser = std::function<Result<plan::Plan>(const cluster::Cluster&)>;

/// Chooses once, for the machines that are there at the start, and stays with it: where too few machines are
/// left it waits; where others take the place of lost ones the same plan starts again on them.
class FixedPlan final : public Policy {
 public:
  FixedPlan(std::string name, Chooser choose) : name_(std::move(name)), choose_(std::move(choose)) {}

  std::string name() const override { return name_; }
  Answer begin(const View& view) override;
  Answer after_step(const View& view, const control::Observation& observation) override;
  Answer devices_changed(const View& view) override;
  Answer out_of_memory(const View& view, const OutOfMemory& what) override;
  bool restarts() const override { return true; }

 private:
  Answer follow(const View& view);

  std::string name_;
  Chooser choose_;
  std::optional<plan::Plan> chosen_;  ///< on the first devices of a cluster
  plan::Plan running_;                ///< the same where it runs
  cluster::Cluster before_;           ///< that running_ is numbered in
  bool waits_ = true;
};

/// The plan with less memory in the stage that ran out: half the micro-batch, then recomputation. Nothing
/// where that is all there.
std::optional<plan::Plan> with_less_memory(const plan::Plan& plan, plan::ModelStage stage);

}  // namespace nereus::simulator
