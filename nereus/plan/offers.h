#pragma once

#include <memory>
#include <vector>

#include "nereus/plan/explain.h"
#include "nereus/plan/grid.h"
#include "nereus/plan/options.h"

namespace nereus::plan {

/// What one pool of devices offers. `options` keep their addresses.
struct Offers {
  GridSet grids;
  double largest = 0;                               ///< bytes that the roomiest device may fill
  std::vector<std::vector<Option>> by_family;       ///< of `families`
  std::vector<Family> families;                     ///< stage after stage
  std::vector<std::vector<const Option*>> options;  ///< [stages]
};

using Pools = std::vector<std::unique_ptr<Offers>>;

/// All that `devices` offer to every model-stage. `known`: the pools so far; a grid alike one of theirs has
/// its options from there.
std::unique_ptr<Offers> offers_of(const cluster::Cluster& cluster, const Job& job,
                                  const std::vector<int32_t>& devices, const Pools& known,
                                  OptionMaker& maker);

/// The `count` fastest options, those that hold the least when idle, and those that hold the least when
/// running. REQUIRES: `options` by time.
std::vector<const Option*> few_of(const std::vector<const Option*>& options, size_t count);

}  // namespace nereus::plan
