#include "nereus/simulator/fixed_plan.h"

#include <algorithm>

#include "nereus/control/membership.h"

namespace nereus::simulator {

namespace {

int32_t devices_needed(const plan::Plan& plan) {
  int32_t most = 0;
  for (const auto& placement : plan.placements)
    for (const int32_t device : placement.devices) most = std::max(most, device + 1);
  return most;
}

}  // namespace

Answer FixedPlan::begin(const View& view) {
  return devices_changed(view);
}

Answer FixedPlan::after_step(const View& view, const control::Observation& /*observation*/) {
  return follow(view);
}

Answer FixedPlan::devices_changed(const View& view) {
  if (!chosen_) {
    auto chosen = choose_(view.cluster);
    if (!chosen) return {Answer::Action::wait, {}, 0, 0, chosen.error().message};
    chosen_ = std::move(*chosen);
  }
  return follow(view);
}

Answer FixedPlan::follow(const View& view) {
  if (!waits_) {
    if (auto same = control::carry_over(running_, before_, view.cluster)) {
      running_ = std::move(*same);
      before_ = view.cluster;
      return {};
    }
  }
  waits_ = view.cluster.devices() < devices_needed(*chosen_);
  if (waits_) return {Answer::Action::wait, {}, 0, 0, "too few devices for the plan"};
  running_ = *chosen_;
  before_ = view.cluster;
  return {Answer::Action::change, running_, 0, 0, "the plan starts"};
}

Answer FixedPlan::out_of_memory(const View& view, const OutOfMemory& what) {
  const auto less = with_less_memory(*chosen_, what.stage);
  if (!less) return follow(view);
  chosen_ = *less;
  waits_ = true;
  Answer answer = follow(view);
  answer.reason = what.what();
  return answer;
}

std::optional<plan::Plan> with_less_memory(const plan::Plan& plan, plan::ModelStage stage) {
  plan::Plan less = plan;
  for (auto& placement : less.placements) {
    if (placement.what != stage) continue;
    if (placement.micro_batch > 1) {
      placement.micro_batch /= 2;
      return less;
    }
    if (stage.stage == plan::Stage::train && !placement.recompute) {
      placement.recompute = true;
      return less;
    }
  }
  return std::nullopt;
}

}  // namespace nereus::simulator
