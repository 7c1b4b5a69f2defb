#include "nereus/simulator/adaptive.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nereus/control/membership.h"
#include "nereus/elastic/transition.h"

namespace nereus::simulator {

namespace {

/// All machines of two clusters, and the numbers that their devices have there.
class Union {
 public:
  Union(const cluster::Cluster& before, const cluster::Cluster& now) : all_(now) {
    for (const auto& machine : before.machines)
      if (std::ranges::none_of(now.machines, [&](const auto& other) { return other.name == machine.name; }))
        all_.machines.push_back(machine);
    now_devices_ = now.devices();
  }

  const cluster::Cluster& all() const { return all_; }

  plan::Plan renumbered(plan::Plan plan, const cluster::Cluster& from) const {
    std::map<std::string, int32_t> first;
    for (size_t m = 0, device = 0; m < all_.machines.size(); ++m) {
      first[all_.machines[m].name] = static_cast<int32_t>(device);
      device += static_cast<size_t>(all_.machines[m].devices);
    }
    std::vector<int32_t> number;
    for (const auto& machine : from.machines)
      for (int32_t i = 0; i < machine.devices; ++i) number.push_back(first[machine.name] + i);
    for (auto& placement : plan.placements)
      for (int32_t& device : placement.devices) device = number[static_cast<size_t>(device)];
    return plan;
  }

  /// Devices of machines that have gone.
  std::vector<int32_t> lost() const {
    std::vector<int32_t> devices;
    for (int32_t device = now_devices_; device < all_.devices(); ++device) devices.push_back(device);
    return devices;
  }

 private:
  cluster::Cluster all_;
  int32_t now_devices_ = 0;
};

/// A start reads everything from the checkpoint whatever the plan, so that plans do not differ in it.
control::TransitionPrice price_from(const plan::Job& job, const control::Origin& origin) {
  if (origin.from == nullptr) return [](const plan::Plan&, double) { return 0.0; };
  const Union both(origin.before, origin.now);
  elastic::TransitionOptions options;
  options.lost = both.lost();
  options.recovery = elastic::Recovery::older;
  auto maker = std::make_shared<elastic::TransitionMaker>(
      both.all(), job, both.renumbered(*origin.from, origin.before), std::move(options));
  return [maker](const plan::Plan& to, double limit) { return maker->seconds(to, limit); };
}

/// The controller's own, but that no search is cut short by a busy machine: a simulation gives the same
/// everywhere.
control::ControllerOptions options_of() {
  control::ControllerOptions options;
  options.search.deadline = 60;
  return options;
}

}  // namespace

Adaptive::Adaptive(const plan::Job& job)
    : controller_(job, options_of(),
                  [job](const control::Origin& origin) { return price_from(job, origin); }) {}

Answer Adaptive::begin(const View& view) {
  return answer(controller_.begin(view.cluster, view.now, view.steps_left));
}

Answer Adaptive::after_step(const View& view, const control::Observation& observation) {
  return answer(controller_.observe(view.cluster, observation));
}

Answer Adaptive::devices_changed(const View& view) {
  return answer(controller_.devices_changed(view.cluster, view.now));
}

Answer Adaptive::out_of_memory(const View& view, const OutOfMemory& /*what*/) {
  return answer(controller_.devices_changed(view.cluster, view.now));
}

Answer Adaptive::answer(const control::Decision& decision) {
  Answer answer{Answer::Action::keep, {}, decision.predicted, decision.transition, decision.reason};
  if (decision.action == control::Action::wait || !controller_.plan()) answer.action = Answer::Action::wait;
  if (decision.action == control::Action::change) {
    answer.action = Answer::Action::change;
    answer.plan = *controller_.plan();
  }
  return answer;
}

}  // namespace nereus::simulator
