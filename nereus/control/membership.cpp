#include "nereus/control/membership.h"

#include <string>
#include <unordered_map>

namespace nereus::control {
namespace {

// By device of `before`: its number in `now`, or -1.
std::vector<int32_t> renumbering(const cluster::Cluster& before, const cluster::Cluster& now) {
  struct Place {
    int32_t first = 0, devices = 0;
  };
  std::unordered_map<std::string, Place> places;
  int32_t first = 0;
  for (const cluster::Machine& machine : now.machines) {
    places[machine.name] = {first, machine.devices};
    first += machine.devices;
  }
  std::vector<int32_t> numbers;
  for (const cluster::Machine& machine : before.machines) {
    const auto found = places.find(machine.name);
    for (int32_t i = 0; i < machine.devices; ++i)
      numbers.push_back(found != places.end() && i < found->second.devices ? found->second.first + i : -1);
  }
  return numbers;
}

}  // namespace

bool same_devices(const cluster::Cluster& a, const cluster::Cluster& b) {
  if (a.machines.size() != b.machines.size()) return false;
  for (size_t i = 0; i < a.machines.size(); ++i) {
    const cluster::Machine &x = a.machines[i], &y = b.machines[i];
    if (x.name != y.name || x.devices != y.devices || !(x.kind == y.kind)) return false;
  }
  return true;
}

Result<plan::Plan> carry_over(const plan::Plan& plan, const cluster::Cluster& before,
                              const cluster::Cluster& now) {
  const std::vector<int32_t> numbers = renumbering(before, now);
  plan::Plan result = plan;
  for (plan::Placement& placement : result.placements) {
    for (int32_t& device : placement.devices) {
      const auto index = static_cast<size_t>(device);
      if (device < 0 || index >= numbers.size()) return fail("device {}: the cluster never had it", device);
      if (numbers[index] < 0)
        return fail("device {} of machine {} is gone", device,
                    before.machines[static_cast<size_t>(before.machine_of(device))].name);
      device = numbers[index];
    }
  }
  return result;
}

}  // namespace nereus::control
