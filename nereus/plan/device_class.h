#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "nereus/plan/options.h"

namespace nereus::plan {

struct Choices;

/// A grid of which devices are told apart by their pipeline index.
struct GridUse {
  /// `alike`: by pipeline index, the first whose ranks hold the same whatever runs on the grid; empty: none
  /// do.
  GridUse(const Grid* used, std::vector<int32_t> alike = {}) : grid(used), first_alike(std::move(alike)) {}

  const Grid* grid;
  std::vector<int32_t> first_alike;
};

/// Those of all choices, with the pipeline indices that no option tells apart.
std::vector<GridUse> grids_in(const std::vector<Choices>& choices);

/// Devices that no combination of the given grids can tell apart: of one kind, and with the same pipeline
/// index, or one that holds the same, in every grid. Memory is checked once a class. Immutable; thread-safe.
class DeviceClasses {
 public:
  DeviceClasses(const cluster::Cluster& cluster, const std::vector<GridUse>& grids, double utilization);

  size_t count() const { return room_.size(); }
  /// Bytes that may be filled beside the context, by class.
  const std::vector<double>& room() const { return room_; }
  /// Pipeline index by class (the first of those alike); -1 where the grid has no device. REQUIRES: one of
  /// the grids given.
  const std::vector<int32_t>& pipeline(const Grid* grid) const { return pipelines_.at(grid); }

  /// Machines with the same devices of every class count as one kind of host.
  size_t hosts() const { return host_room_.size(); }
  const std::vector<double>& host_room() const { return host_room_; }  ///< bytes that may be filled
  /// Devices of each class on a host.
  const std::vector<int32_t>& host_devices(size_t host) const { return host_devices_[host]; }

 private:
  void add_host(double room, const std::vector<int32_t>& devices);

  std::vector<double> room_;
  std::map<const Grid*, std::vector<int32_t>> pipelines_;
  std::vector<double> host_room_;
  std::vector<std::vector<int32_t>> host_devices_;  ///< [hosts][classes]
};

}  // namespace nereus::plan
