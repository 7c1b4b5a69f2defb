#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "nereus/cluster/cluster.h"

namespace nereus::plan {

/// Pools on which all stages may take turns: all devices, and those of each kind where there are several.
std::vector<std::vector<int32_t>> shared_pools(const cluster::Cluster& cluster);

/// Two pools that together are all devices, so that model-stages may run side by side: cut between machines,
/// or between the devices of a single one, at parts of eighths (of quarters in larger clusters), and between
/// kinds. Where all machines are alike, the first pool is the smaller one.
std::vector<std::array<std::vector<int32_t>, 2>> splits(const cluster::Cluster& cluster);

}  // namespace nereus::plan
