#include "nereus/cluster/cluster.h"

namespace nereus::cluster {

int32_t Cluster::devices() const {
  return first_device(static_cast<int32_t>(machines.size()));
}

int32_t Cluster::machine_of(int32_t device) const {
  int32_t machine = 0;
  while (device >= machines[static_cast<size_t>(machine)].devices) {
    device -= machines[static_cast<size_t>(machine)].devices;
    ++machine;
  }
  return machine;
}

int32_t Cluster::first_device(int32_t machine) const {
  int32_t first = 0;
  for (int32_t i = 0; i < machine; ++i) first += machines[static_cast<size_t>(i)].devices;
  return first;
}

std::vector<int32_t> machine_of_each(const Cluster& cluster) {
  std::vector<int32_t> result;
  for (size_t machine = 0; machine < cluster.machines.size(); ++machine) {
    result.insert(result.end(), static_cast<size_t>(cluster.machines[machine].devices),
                  static_cast<int32_t>(machine));
  }
  return result;
}

}  // namespace nereus::cluster
