#include "nereus/plan/device_class.h"

#include <algorithm>

namespace nereus::plan {
namespace {

/// Pipeline index of every device of the cluster in a grid; -1 where it is not in it.
std::vector<int32_t> pipeline_by_device(const GridUse& use, size_t devices) {
  const Grid& grid = *use.grid;
  std::vector<int32_t> result(devices, -1);
  for (size_t rank = 0; rank < grid.devices.size(); ++rank) {
    const int32_t index = static_cast<int32_t>(rank) / grid.layout.tp % grid.layout.pp;
    result[static_cast<size_t>(grid.devices[rank])] =
        use.first_alike.empty() ? index : use.first_alike[static_cast<size_t>(index)];
  }
  return result;
}

/// Numbers equal rows alike, in the order in which they first appear.
class Numbering {
 public:
  size_t number(const std::vector<double>& row) {
    return numbers_.try_emplace(row, numbers_.size()).first->second;
  }

 private:
  std::map<std::vector<double>, size_t> numbers_;
};

}  // namespace

DeviceClasses::DeviceClasses(const cluster::Cluster& cluster, const std::vector<GridUse>& grids,
                             double utilization) {
  const std::vector<int32_t> machines = cluster::machine_of_each(cluster);
  std::vector<std::vector<int32_t>> by_grid;
  for (const GridUse& use : grids) by_grid.push_back(pipeline_by_device(use, machines.size()));
  std::vector<std::vector<int32_t>> members(cluster.machines.size());
  Numbering classes;
  std::vector<double> row(grids.size() + 1);
  for (size_t device = 0; device < machines.size(); ++device) {
    const cluster::DeviceKind& kind = cluster.machines[static_cast<size_t>(machines[device])].kind;
    row[0] = kind.memory * utilization - kind.context;
    for (size_t g = 0; g < grids.size(); ++g) row[g + 1] = by_grid[g][device];
    const size_t index = classes.number(row);
    if (index == room_.size()) {
      room_.push_back(row[0]);
      for (size_t g = 0; g < grids.size(); ++g) pipelines_[grids[g].grid].push_back(by_grid[g][device]);
    }
    std::vector<int32_t>& here = members[static_cast<size_t>(machines[device])];
    here.resize(std::max(here.size(), index + 1));
    ++here[index];
  }
  Numbering hosts;
  for (size_t machine = 0; machine < members.size(); ++machine) {
    members[machine].resize(room_.size());
    std::vector<double> host(members[machine].begin(), members[machine].end());
    host.push_back(cluster.machines[machine].host_memory * utilization);
    if (hosts.number(host) < host_room_.size()) continue;
    host_room_.push_back(host.back());
    host_devices_.push_back(members[machine]);
  }
}

}  // namespace nereus::plan
