#include "nereus/elastic/assignment.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "nereus/elastic/hungarian.h"

namespace nereus::elastic {
namespace {

/// Adds the bytes of the cells of one lane.
void add_pairs(const ModelTensors& model, const Lane& from, const Lane& to, Overlap& overlap) {
  std::vector<Cell> cells;
  Slicer slicer(std::numeric_limits<int64_t>::max(), overlap.sets);
  for (int32_t tensor = 0; tensor < model.count(); ++tensor) {
    if (from.of(tensor).empty() || to.of(tensor).empty()) continue;
    slicer.slice(tensor, {from.of(tensor), to.of(tensor), {}}, cells);
  }
  for (const Cell& cell : cells) {
    if (cell.sources != 0)
      overlap.bytes[{cell.sources, cell.targets}] +=
          static_cast<double>(cell.box.elements() * to.element_bytes);
  }
}

/// Positions in the placement's list by device, and of all devices of a machine by host.
std::vector<std::vector<int32_t>> columns_of(const Places& places, const std::vector<int32_t>& devices) {
  std::vector<std::vector<int32_t>> columns(static_cast<size_t>(places.count()) + 1);
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto column = static_cast<int32_t>(i);
    columns[static_cast<size_t>(devices[i])].push_back(column);
    columns[static_cast<size_t>(places.host(places.machine(devices[i])))].push_back(column);
  }
  return columns;
}

/// Ranks whose devices lie on one machine, and the positions of those devices.
struct Block {
  int32_t machine = 0;
  std::vector<int32_t> positions;
};

std::vector<Block> blocks_of(const cluster::Cluster& cluster, const std::vector<int32_t>& devices) {
  std::map<int32_t, Block> by_machine;
  for (size_t i = 0; i < devices.size(); ++i) {
    const int32_t machine = cluster.machine_of(devices[i]);
    by_machine[machine].machine = machine;
    by_machine[machine].positions.push_back(static_cast<int32_t>(i));
  }
  std::vector<Block> blocks;
  for (auto& [machine, block] : by_machine) blocks.push_back(std::move(block));
  return blocks;
}

bool alike(const cluster::Cluster& cluster, const Block& a, const Block& b) {
  const auto& x = cluster.machines[static_cast<size_t>(a.machine)];
  const auto& y = cluster.machines[static_cast<size_t>(b.machine)];
  return a.positions.size() == b.positions.size() && x.kind == y.kind &&
         x.network_bandwidth == y.network_bandwidth;
}

/// Assigns the ranks of blocks that are alike to their machines.
class BlockAssigner {
 public:
  BlockAssigner(const std::vector<double>& overlap, size_t ranks, std::vector<int32_t>& device_of_rank)
      : overlap_(overlap), ranks_(ranks), column_of_(device_of_rank) {}

  void assign(const std::vector<Block>& blocks) {
    const size_t n = blocks.size();
    std::vector<double> values(n * n);
    std::vector<const Within*> within(n * n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        within[i * n + j] = &inner(blocks[i], blocks[j]);
        values[i * n + j] = within[i * n + j]->value;
      }
    }
    const auto outer = best_assignment(values, static_cast<int32_t>(n));
    for (size_t i = 0; i < n; ++i) {
      const Block& to = blocks[static_cast<size_t>(outer[i])];
      const std::vector<int32_t>& best = within[i * n + static_cast<size_t>(outer[i])]->best;
      for (size_t k = 0; k < best.size(); ++k)
        column_of_[static_cast<size_t>(blocks[i].positions[k])] = to.positions[static_cast<size_t>(best[k])];
    }
  }

 private:
  /// The ranks of one block on the devices of another.
  struct Within {
    std::vector<int32_t> best;
    double value = 0;
  };

  double at(int32_t rank, int32_t column) const {
    return overlap_[static_cast<size_t>(rank) * ranks_ + static_cast<size_t>(column)];
  }

  /// Worked out once for blocks that hold alike, as most do.
  const Within& inner(const Block& ranks, const Block& devices) {
    const size_t n = ranks.positions.size();
    std::vector<double> values;
    values.reserve(n * n);
    for (const int32_t rank : ranks.positions) {
      for (const int32_t column : devices.positions) values.push_back(at(rank, column));
    }
    const auto [found, added] = known_.try_emplace(std::move(values));
    Within& within = found->second;
    if (!added) return within;
    within.best = best_assignment(found->first, static_cast<int32_t>(n));
    for (size_t k = 0; k < n; ++k) within.value += found->first[k * n + static_cast<size_t>(within.best[k])];
    return within;
  }

  const std::vector<double>& overlap_;
  size_t ranks_;
  std::vector<int32_t>& column_of_;
  std::map<std::vector<double>, Within> known_;  ///< by overlaps, row by row
};

}  // namespace

OverlapKey overlap_key(const plan::Placement& placement) {
  const bool trains = placement.what.stage == plan::Stage::train;
  return {placement.what.role, placement.layout, trains, trains ? placement.zero : 0};
}

Overlap overlap_of(const Places& places, const plan::Job& job, const ModelTensors& model,
                   const ModelState& before, const plan::Placement& placement, PlaceSets sets) {
  // The state that the ranks need, with ranks in the place of devices.
  plan::Placement ranks = placement;
  std::iota(ranks.devices.begin(), ranks.devices.end(), 0);
  ranks.leaves_when_idle = false;
  Overlap result{std::move(sets), {}};
  const ModelState needed = state_of(places, job, model, {ranks}, result.sets);
  for (const LaneKind lane : {LaneKind::weights, LaneKind::adapters, LaneKind::optimizer})
    add_pairs(model, before[lane], needed[lane], result);
  return result;
}

std::vector<double> by_rank(const Places& places, const Overlap& overlap,
                            const std::vector<int32_t>& devices) {
  const auto columns = columns_of(places, devices);
  const size_t n = devices.size();
  std::vector<double> result(n * n, 0);
  for (const auto& [pair, bytes] : overlap.bytes) {
    for (const int32_t rank : overlap.sets[pair.second]) {
      double* row = &result[static_cast<size_t>(rank) * n];
      for (const int32_t place : overlap.sets[pair.first]) {
        for (const int32_t column : columns[static_cast<size_t>(place)]) row[column] += bytes;
      }
    }
  }
  return result;
}

std::vector<int32_t> assign_devices(const cluster::Cluster& cluster, const Overlap& overlap,
                                    const std::vector<int32_t>& devices) {
  const size_t n = devices.size();
  const auto held = by_rank(Places(cluster), overlap, devices);
  std::vector<int32_t> columns(n);
  std::iota(columns.begin(), columns.end(), 0);
  BlockAssigner assigner(held, n, columns);
  std::vector<Block> left = blocks_of(cluster, devices);
  while (!left.empty()) {
    std::vector<Block> same, other;
    for (Block& block : left) (alike(cluster, left[0], block) ? same : other).push_back(block);
    assigner.assign(same);
    left = std::move(other);
  }
  double given = 0, best = 0;
  for (size_t rank = 0; rank < n; ++rank) {
    given += held[rank * n + rank];
    best += held[rank * n + static_cast<size_t>(columns[rank])];
  }
  if (best <= given) return devices;
  std::vector<int32_t> assigned;
  for (const int32_t column : columns) assigned.push_back(devices[static_cast<size_t>(column)]);
  return assigned;
}

}  // namespace nereus::elastic
