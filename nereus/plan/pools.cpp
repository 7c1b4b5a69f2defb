#include "nereus/plan/pools.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace nereus::plan {
namespace {

constexpr int32_t kLarge = 16;  ///< devices beyond which splits are fewer

/// Devices whose machine has the kind, and the others.
std::array<std::vector<int32_t>, 2> by_kind(const cluster::Cluster& cluster,
                                            const cluster::DeviceKind& kind) {
  std::array<std::vector<int32_t>, 2> result;
  const std::vector<int32_t> machines = cluster::machine_of_each(cluster);
  for (size_t device = 0; device < machines.size(); ++device) {
    const bool same = cluster.machines[static_cast<size_t>(machines[device])].kind == kind;
    result[same ? 0 : 1].push_back(static_cast<int32_t>(device));
  }
  return result;
}

std::vector<cluster::DeviceKind> kinds_of(const cluster::Cluster& cluster) {
  std::vector<cluster::DeviceKind> kinds;
  for (const cluster::Machine& machine : cluster.machines) {
    if (machine.devices > 0 && std::find(kinds.begin(), kinds.end(), machine.kind) == kinds.end())
      kinds.push_back(machine.kind);
  }
  return kinds;
}

/// First devices of second pools.
std::set<int32_t> cuts(const cluster::Cluster& cluster) {
  const int32_t devices = cluster.devices(), parts = devices > kLarge ? 4 : 8;
  const auto machines = static_cast<int32_t>(cluster.machines.size());
  const bool alike =
      std::all_of(cluster.machines.begin(), cluster.machines.end(), [&](const cluster::Machine& m) {
        return m.kind == cluster.machines[0].kind && m.devices == cluster.machines[0].devices;
      });
  std::set<int32_t> result;
  for (int32_t part = 1; part < (alike ? parts / 2 + 1 : parts); ++part) {
    const int32_t machine = machines * part / parts;
    result.insert(machines > 1 ? cluster.first_device(machine) : devices * part / parts);
  }
  result.erase(0);
  result.erase(devices);
  return result;
}

}  // namespace

std::vector<std::vector<int32_t>> shared_pools(const cluster::Cluster& cluster) {
  std::vector<int32_t> all(static_cast<size_t>(cluster.devices()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<int32_t>> pools = {all};
  const std::vector<cluster::DeviceKind> kinds = kinds_of(cluster);
  for (size_t i = 0; kinds.size() > 1 && i < kinds.size(); ++i)
    pools.push_back(by_kind(cluster, kinds[i])[0]);
  return pools;
}

std::vector<std::array<std::vector<int32_t>, 2>> splits(const cluster::Cluster& cluster) {
  std::vector<std::array<std::vector<int32_t>, 2>> result;
  for (const int32_t cut : cuts(cluster)) {
    std::array<std::vector<int32_t>, 2> split;
    for (int32_t device = 0; device < cluster.devices(); ++device)
      split[device < cut ? 0 : 1].push_back(device);
    result.push_back(std::move(split));
  }
  const std::vector<cluster::DeviceKind> kinds = kinds_of(cluster);
  for (size_t i = 0; kinds.size() > 1 && i < kinds.size(); ++i) result.push_back(by_kind(cluster, kinds[i]));
  return result;
}

}  // namespace nereus::plan
