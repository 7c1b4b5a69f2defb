#include "nereus/elastic/places.h"

#include <fmt/format.h>

namespace nereus::elastic {

Places::Places(const cluster::Cluster& cluster) {
  for (const cluster::Machine& machine : cluster.machines) devices_ += machine.devices;
  for (const cluster::Machine& machine : cluster.machines) {
    const auto index = static_cast<int32_t>(machine_names_.size());
    for (int32_t i = 0; i < machine.devices; ++i) {
      machine_.push_back(index);
      capacity_.push_back(static_cast<int64_t>(machine.kind.memory));
    }
    machine_names_.push_back(machine.name);
    kinds_.push_back(machine.kind.name);
  }
  for (int32_t machine = 0; machine < machines(); ++machine) {
    machine_.push_back(machine);
    capacity_.push_back(static_cast<int64_t>(cluster.machines[static_cast<size_t>(machine)].host_memory));
  }
}

std::string Places::name(int32_t place) const {
  if (place == checkpoint()) return "the checkpoint";
  const auto index = static_cast<size_t>(machine(place));
  if (is_host(place)) return fmt::format("the memory of machine {}", machine_names_[index]);
  return fmt::format("device {} (machine {}, {})", place, machine_names_[index], kinds_[index]);
}

}  // namespace nereus::elastic
