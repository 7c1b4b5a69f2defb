#pragma once

#include <cstdint>
#include <vector>

#include "nereus/elastic/cut.h"

namespace nereus::elastic {

/// Gives the ranks of a placement to the devices of its list so that as many bytes as possible are where they
/// are needed. The ranks that share a machine stay together, so that a tensor group keeps its links: blocks
/// of ranks go to machines of equal kind and count, and ranks to devices within. Both choices are exact
/// linear assignments, the outer over the best values of the inner; the given order is kept where nothing is
/// better. Returned: the devices by rank. `before` is the readable state of the placement's model.
std::vector<int32_t> assign_devices(const cluster::Cluster& cluster, const plan::Job& job,
                                    const ModelTensors& model, const ModelState& before,
                                    const plan::Placement& placement, PlaceSets& sets);

/// Bytes that device d (column, by position in the placement's list) holds of what rank r (row) needs; what a
/// host holds counts for each of its devices. ranks() squared, row by row.
std::vector<double> overlap(const Places& places, const plan::Job& job, const ModelTensors& model,
                            const ModelState& before, const plan::Placement& placement, PlaceSets& sets);

}  // namespace nereus::elastic
