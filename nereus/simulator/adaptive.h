#pragma once

#include <optional>

#include "nereus/control/controller.h"
#include "nereus/simulator/policy.h"

namespace nereus::simulator {

/// The product's own controller with its search and its transition graph's cost: it sees what a job reports
/// and the machines that are there, and nothing else.
class Adaptive final : public Policy {
 public:
  explicit Adaptive(const plan::Job& job);

  std::string name() const override { return "adaptive"; }
  Answer begin(const View& view) override;
  Answer after_step(const View& view, const control::Observation& observation) override;
  Answer devices_changed(const View& view) override;
  Answer out_of_memory(const View& view, const OutOfMemory& what) override;

  const control::Controller& controller() const { return controller_; }

 private:
  Answer answer(const control::Decision& decision);

  control::Controller controller_;
};

}  // namespace nereus::simulator
