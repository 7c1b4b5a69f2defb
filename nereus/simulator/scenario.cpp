#include "nereus/simulator/scenario.h"

#include <map>

namespace nereus::simulator {

cluster::Cluster some_machines(const cluster::Cluster& cluster, const std::vector<int32_t>& machines) {
  cluster::Cluster some{{}, cluster.link_latency, cluster.network_latency};
  for (const int32_t machine : machines)
    some.machines.push_back(cluster.machines[static_cast<size_t>(machine)]);
  return some;
}

std::vector<int32_t> machine_numbers(const cluster::Cluster& cluster, const cluster::Cluster& part) {
  std::map<std::string, int32_t> numbers;
  for (const auto& machine : cluster.machines)
    numbers.emplace(machine.name, static_cast<int32_t>(numbers.size()));
  std::vector<int32_t> machines;
  for (const auto& machine : part.machines) machines.push_back(numbers.at(machine.name));
  return machines;
}

plan::Plan in_whole(plan::Plan plan, const cluster::Cluster& cluster, const std::vector<int32_t>& machines) {
  const int32_t each = cluster.machines.front().devices;
  for (auto& placement : plan.placements)
    for (int32_t& device : placement.devices)
      device = machines[static_cast<size_t>(device / each)] * each + device % each;
  return plan;
}

}  // namespace nereus::simulator
