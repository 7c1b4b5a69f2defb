#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "nereus/elastic/cut.h"

namespace nereus::elastic {

/// Bytes that places hold of what the ranks of a placement need.
struct Overlap {
  PlaceSets sets;  ///< those given, and then what came up: also sets of ranks
  std::map<std::pair<int32_t, int32_t>, double> bytes;  ///< by set of places and set of ranks
};

/// What of a placement matters to its overlap: model, layout, whether it trains, and how it is sharded then.
using OverlapKey = std::tuple<plan::Role, plan::Layout, bool, int32_t>;
OverlapKey overlap_key(const plan::Placement& placement);

/// `before` is the readable state of the placement's model. The placement's devices do not matter.
Overlap overlap_of(const Places& places, const plan::Job& job, const ModelTensors& model,
                   const ModelState& before, const plan::Placement& placement, PlaceSets sets);

/// Bytes that device d (column, by position in the list) holds of what rank r (row) needs; what a host holds
/// counts for each of its devices. The number of devices squared, row by row.
std::vector<double> by_rank(const Places& places, const Overlap& overlap,
                            const std::vector<int32_t>& devices);

/// Gives the ranks of a placement to the devices of its list so that as many bytes as possible are where they
/// are needed. The ranks that share a machine stay together, so that a tensor group keeps its links: blocks
/// of ranks go to machines of equal kind and count, and ranks to devices within. Both choices are exact
/// linear assignments, the outer over the best values of the inner; the given order is kept where nothing is
/// better. Returned: the devices by rank.
std::vector<int32_t> assign_devices(const cluster::Cluster& cluster, const Overlap& overlap,
                                    const std::vector<int32_t>& devices);

}  // namespace nereus::elastic
