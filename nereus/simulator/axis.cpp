#include "nereus/simulator/axis.h"

#include <algorithm>
#include <cmath>

namespace nereus::simulator {

namespace {

/// The devices of one group after the other, [groups][ranks of the axis].
using Groups = std::vector<std::vector<int32_t>>;

enum class Which : uint8_t { data, pipeline, tensor };

int32_t& coordinate(RankIndex& at, Which axis) {
  return axis == Which::data ? at.data : axis == Which::pipeline ? at.pipeline : at.tensor;
}

Groups groups_of(const plan::Placement& placement, Which axis, int32_t ranks) {
  Groups groups;
  for (int32_t rank = 0; rank < placement.layout.ranks(); ++rank) {
    RankIndex at = index_of(placement.layout, rank);
    if (coordinate(at, axis) != 0) continue;
    std::vector<int32_t> group;
    for (int32_t i = 0; i < ranks; ++i) {
      coordinate(at, axis) = i;
      group.push_back(placement.devices[static_cast<size_t>(rank_of(placement.layout, at))]);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

/// Hops from each to the next; `ring` adds the one from the last to the first.
std::vector<Flow> hops(const Links& links, const Groups& groups, bool ring) {
  std::vector<Flow> flows;
  for (const auto& group : groups)
    for (size_t i = 0; i + (ring ? 0 : 1) < group.size(); ++i)
      flows.push_back(links.flow(group[i], group[(i + 1) % group.size()], 1));
  return flows;
}

bool one_machine(const Links& links, const Groups& groups) {
  return std::ranges::all_of(groups, [&](const auto& group) {
    return std::ranges::all_of(group, [&](int32_t d) { return links.same_machine(d, group.front()); });
  });
}

Axis axis_of(const Links& links, const WorldOptions& world, const plan::Placement& placement, Which which,
             int32_t ranks) {
  Axis axis{ranks, 0, 0};
  if (ranks == 1) return axis;
  const Groups groups = groups_of(placement, which, ranks);
  const auto rates = fair_rates(links.capacity(), hops(links, groups, which != Which::pipeline));
  axis.rate = *std::ranges::min_element(rates);
  const double message =
      one_machine(links, groups) ? world.collective_seconds : world.network_collective_seconds;
  axis.latency = message * (1 + 0.25 * std::log2(ranks));
  return axis;
}

}  // namespace

double Axis::all_reduce(double bytes) const {
  return ranks == 1 ? 0 : 2.0 * (ranks - 1) / ranks * bytes / rate + latency;
}

double Axis::half(double bytes) const {
  return ranks == 1 ? 0 : (ranks - 1.0) / ranks * bytes / rate + latency;
}

double Axis::send(double bytes) const {
  return ranks == 1 ? 0 : bytes / rate + latency;
}

Axes axes_of(const Links& links, const WorldOptions& world, const plan::Placement& placement) {
  const auto& layout = placement.layout;
  return {axis_of(links, world, placement, Which::tensor, layout.tp),
          axis_of(links, world, placement, Which::pipeline, layout.pp),
          axis_of(links, world, placement, Which::data, layout.dp)};
}

}  // namespace nereus::simulator
