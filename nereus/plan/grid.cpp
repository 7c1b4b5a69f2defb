#include "nereus/plan/grid.h"

#include <algorithm>

namespace nereus::plan {
namespace {

constexpr int32_t kMostTensor = 8;  ///< unless a machine has more devices
constexpr int32_t kMostPipeline = 16;

bool suits(const spec::ModelConfig& c, int32_t tp) {
  return c.heads % tp == 0 && c.intermediate % tp == 0 && (c.kv_heads % tp == 0 || tp % c.kv_heads == 0);
}

/// Powers of two and what divides the tensor groups: others would leave more devices out.
bool sensible(int32_t pp, int32_t groups) {
  return (pp & (pp - 1)) == 0 || groups % pp == 0;
}

}  // namespace

GridSet::GridSet(const cluster::Cluster& cluster, std::vector<int32_t> devices)
    : cluster_(cluster), devices_(std::move(devices)), machines_(cluster::machine_of_each(cluster)) {
  std::vector<int32_t> counts(cluster.machines.size(), 0);
  for (const int32_t device : devices_) ++counts[static_cast<size_t>(machines_[static_cast<size_t>(device)])];
  most_in_machine_ = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

std::vector<int32_t> GridSet::in_groups(int32_t tp) const {
  std::vector<int32_t> result;
  for (size_t first = 0; first < devices_.size();) {
    size_t last = first;
    // A group that is larger than any machine spans machines: then the whole pool is one run.
    while (last < devices_.size() &&
           (tp > most_in_machine_ || machines_[static_cast<size_t>(devices_[last])] ==
                                         machines_[static_cast<size_t>(devices_[first])]))
      ++last;
    const auto whole =
        static_cast<std::ptrdiff_t>((last - first) / static_cast<size_t>(tp) * static_cast<size_t>(tp));
    const auto begin = devices_.begin() + static_cast<std::ptrdiff_t>(first);
    result.insert(result.end(), begin, begin + whole);
    first = last;
  }
  return result;
}

const std::vector<int32_t>& GridSet::grouped(int32_t tp) {
  const auto found = grouped_.find(tp);
  return found != grouped_.end() ? found->second : grouped_.emplace(tp, in_groups(tp)).first->second;
}

const Grid* GridSet::find(int32_t tp, int32_t pp, int64_t replicas) {
  const std::vector<int32_t>& usable = grouped(tp);
  const int64_t room = static_cast<int64_t>(usable.size()) / (int64_t{tp} * pp);
  const Layout layout{static_cast<int32_t>(std::min(room, replicas)), pp, tp};
  if (layout.dp < 1) return nullptr;
  for (const Grid& grid : grids_) {
    if (grid.layout == layout) return &grid;
  }
  Placement placement{
      .what = {}, .devices = {usable.begin(), usable.begin() + layout.ranks()}, .layout = layout};
  const Links links = links_of(cluster_, placement);
  grids_.push_back({layout, std::move(placement.devices), links});
  return &grids_.back();
}

std::vector<const Grid*> GridSet::all(const spec::ModelConfig& model, int64_t replicas) {
  std::vector<const Grid*> result;
  const auto count = static_cast<int32_t>(devices_.size());
  for (int32_t tp = 1; tp <= std::min(count, std::max(kMostTensor, most_in_machine_)); ++tp) {
    if (!suits(model, tp)) continue;
    const int32_t groups = count / tp;
    for (int32_t pp = 1; pp <= std::min<int64_t>({kMostPipeline, groups, model.layers}); ++pp) {
      const Grid* grid = sensible(pp, groups) ? find(tp, pp, replicas) : nullptr;
      if (grid != nullptr) result.push_back(grid);
    }
  }
  return result;
}

}  // namespace nereus::plan
