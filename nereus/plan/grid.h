#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "nereus/plan/link.h"

namespace nereus::plan {

/// A layout on devices, with what its axes talk over.
struct Grid {
  Layout layout;
  std::vector<int32_t> devices;  ///< by rank
  Links links;
};

/// The grids of one pool of devices. Tensor groups stay within a machine where a machine has room for one;
/// devices that do not divide are left out. The pool's first device is in every grid, so that two grids of a
/// pool never run at once. Not thread-safe.
class GridSet {
 public:
  /// `devices` in ascending order.
  GridSet(const cluster::Cluster& cluster, std::vector<int32_t> devices);

  /// With as many replicas as the pool has room for, up to `replicas`; null where it has room for none. Asked
  /// twice, the same object.
  const Grid* find(int32_t tp, int32_t pp, int64_t replicas);
  /// Every tp and pp that suits the model: heads and MLP divide, KV heads divide or are copied whole.
  std::vector<const Grid*> all(const spec::ModelConfig& model, int64_t replicas);

  const std::vector<int32_t>& devices() const { return devices_; }

 private:
  std::vector<int32_t> in_groups(int32_t tp) const;
  /// The same, kept.
  const std::vector<int32_t>& grouped(int32_t tp);

  const cluster::Cluster& cluster_;
  std::vector<int32_t> devices_;
  std::vector<int32_t> machines_;  ///< of every device of the cluster
  int32_t most_in_machine_ = 0;
  std::map<int32_t, std::vector<int32_t>> grouped_;  ///< by tp
  std::deque<Grid> grids_;
};

}  // namespace nereus::plan
