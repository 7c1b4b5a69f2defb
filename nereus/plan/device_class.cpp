#include "nereus/plan/device_class.h"

#include <algorithm>

#include "nereus/plan/combine.h"

namespace nereus::plan {
namespace {

/// By pipeline index, the first whose ranks hold the same with every one of the options of one grid.
std::vector<int32_t> first_alike(const std::vector<const Option*>& options) {
  const auto same = [&](size_t p, size_t q) {
    return std::all_of(options.begin(), options.end(),
                       [&](const Option* option) { return option->needs[p] == option->needs[q]; });
  };
  std::vector<int32_t> result;
  for (size_t p = 0; p < options.front()->needs.size(); ++p) {
    size_t first = 0;
    while (first < p && !same(p, first)) ++first;
    result.push_back(static_cast<int32_t>(first));
  }
  return result;
}

/// Pipeline index of every device of the cluster in a grid; -1 where it is not in it.
std::vector<int32_t> pipeline_by_device(const GridUse& use, size_t devices) {
  const Grid& grid = *use.grid;
  std::vector<int32_t> result(devices, -1);
  auto device = grid.devices.begin();
  for (int32_t data = 0; data < grid.layout.dp; ++data) {
    for (int32_t p = 0; p < grid.layout.pp; ++p) {
      const int32_t index = use.first_alike.empty() ? p : use.first_alike[static_cast<size_t>(p)];
      for (int32_t t = 0; t < grid.layout.tp; ++t) result[static_cast<size_t>(*device++)] = index;
    }
  }
  return result;
}

/// Numbers devices such that those are told apart which any of the rows added so far tells apart; numbers go
/// up in the order of the devices.
class Numbering {
 public:
  explicit Numbering(size_t devices) : numbers_(devices, 0) {}

  /// `row`: a number from 0 to below `values` of each device.
  template <class Row>
  void refine(size_t values, Row&& row) {
    std::vector<int32_t> fresh(static_cast<size_t>(count_) * values, -1);
    count_ = 0;
    for (size_t device = 0; device < numbers_.size(); ++device) {
      int32_t& number = fresh[static_cast<size_t>(numbers_[device]) * values + row(device)];
      if (number < 0) number = count_++;
      numbers_[device] = number;
    }
  }

  size_t of(size_t device) const { return static_cast<size_t>(numbers_[device]); }

 private:
  std::vector<int32_t> numbers_;
  int32_t count_ = 1;
};

/// Bytes that may be filled beside the context, by device.
std::vector<double> rooms_of(const cluster::Cluster& cluster, double utilization) {
  std::vector<double> rooms;
  for (const cluster::Machine& machine : cluster.machines)
    rooms.insert(rooms.end(), static_cast<size_t>(machine.devices),
                 machine.kind.memory * utilization - machine.kind.context);
  return rooms;
}

Numbering classes_of(const std::vector<double>& rooms, const std::vector<GridUse>& grids,
                     const std::vector<std::vector<int32_t>>& by_grid) {
  Numbering classes(rooms.size());
  std::vector<double> distinct;
  for (const double room : rooms)
    if (std::find(distinct.begin(), distinct.end(), room) == distinct.end()) distinct.push_back(room);
  classes.refine(distinct.size(), [&](size_t device) {
    return static_cast<size_t>(std::find(distinct.begin(), distinct.end(), rooms[device]) - distinct.begin());
  });
  for (size_t g = 0; g < grids.size(); ++g) {
    const std::vector<int32_t>& pipeline = by_grid[g];
    classes.refine(static_cast<size_t>(grids[g].grid->layout.pp) + 1,
                   [&](size_t device) { return static_cast<size_t>(pipeline[device] + 1); });
  }
  return classes;
}

}  // namespace

std::vector<GridUse> grids_in(const std::vector<Choices>& choices) {
  std::map<const Grid*, size_t> index;
  std::vector<std::vector<const Option*>> options;
  for (const Choices& stage : choices) {
    for (const Option* option : stage.options) {
      const auto [found, added] = index.try_emplace(option->grid, options.size());
      if (added) options.emplace_back();
      options[found->second].push_back(option);
    }
  }
  std::vector<GridUse> result;
  for (const auto& here : options) result.emplace_back(here.front()->grid, first_alike(here));
  return result;
}

DeviceClasses::DeviceClasses(const cluster::Cluster& cluster, const std::vector<GridUse>& grids,
                             double utilization) {
  const std::vector<int32_t> machines = cluster::machine_of_each(cluster);
  const std::vector<double> rooms = rooms_of(cluster, utilization);
  std::vector<std::vector<int32_t>> by_grid;
  for (const GridUse& use : grids) by_grid.push_back(pipeline_by_device(use, machines.size()));
  const Numbering classes = classes_of(rooms, grids, by_grid);
  std::vector<std::vector<int32_t>> members(cluster.machines.size());
  std::vector<size_t> first;  // device of each class
  for (size_t device = 0; device < machines.size(); ++device) {
    const size_t index = classes.of(device);
    if (index == room_.size()) {
      room_.push_back(rooms[device]);
      first.push_back(device);
    }
    std::vector<int32_t>& here = members[static_cast<size_t>(machines[device])];
    here.resize(std::max(here.size(), index + 1));
    ++here[index];
  }
  for (size_t g = 0; g < grids.size(); ++g) {
    std::vector<int32_t>& pipeline = pipelines_[grids[g].grid];
    pipeline.reserve(first.size());
    for (const size_t device : first) pipeline.push_back(by_grid[g][device]);
  }
  for (size_t machine = 0; machine < members.size(); ++machine) {
    members[machine].resize(room_.size());
    add_host(cluster.machines[machine].host_memory * utilization, members[machine]);
  }
}

/// Unless there is one like it.
void DeviceClasses::add_host(double room, const std::vector<int32_t>& devices) {
  for (size_t host = 0; host < host_room_.size(); ++host) {
    if (host_room_[host] == room && host_devices_[host] == devices) return;
  }
  host_room_.push_back(room);
  host_devices_.push_back(devices);
}

}  // namespace nereus::plan
