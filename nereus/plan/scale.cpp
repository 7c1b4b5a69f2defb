#include "nereus/plan/scale.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "nereus/plan/memory.h"

namespace nereus::plan {
namespace {

/// Devices between two places at which placements begin.
struct Pool {
  int32_t begin = 0, size = 0;
  int32_t unit = 1;  ///< devices of the largest replica of those that have this pool alone
};

/// The pools that a placement covers: [first, last).
struct Span {
  size_t first = 0, last = 0;
};

Span span_of(const std::vector<Pool>& pools, const Placement& placement) {
  const auto [low, high] = std::ranges::minmax(placement.devices);
  Span span;
  for (const auto& pool : pools) {
    if (pool.begin < low) ++span.first;
    if (pool.begin <= high) ++span.last;
  }
  return span;
}

std::vector<Pool> pools_of(const Plan& plan, int32_t devices) {
  std::set<int32_t> begins{0};
  for (const auto& placement : plan.placements) begins.insert(std::ranges::min(placement.devices));
  std::vector<Pool> pools;
  for (const int32_t begin : begins) {
    if (!pools.empty()) pools.back().size = begin - pools.back().begin;
    pools.push_back({begin, devices - begin, 1});
  }
  for (const auto& placement : plan.placements)
    if (const Span span = span_of(pools, placement); span.last == span.first + 1)
      pools[span.first].unit = std::max(pools[span.first].unit, placement.layout.tp * placement.layout.pp);
  return pools;
}

/// New sizes, in proportion and by whole replicas; what is left over goes to those that lost most by
/// rounding.
std::vector<int32_t> sizes_for(const std::vector<Pool>& pools, int32_t from, int32_t to) {
  std::vector<int32_t> sizes;
  std::vector<std::pair<double, size_t>> short_of;
  int32_t left = to;
  for (size_t i = 0; i < pools.size(); ++i) {
    const double exact = static_cast<double>(pools[i].size) * to / from;
    sizes.push_back(static_cast<int32_t>(exact) / pools[i].unit * pools[i].unit);
    short_of.emplace_back(sizes.back() - exact, i);
    left -= sizes.back();
  }
  std::ranges::sort(short_of);
  for (const auto& [gap, i] : short_of)
    while (left >= pools[i].unit && (sizes[i] == 0 || pools.size() == 1)) {
      sizes[i] += pools[i].unit;
      left -= pools[i].unit;
    }
  for (const auto& [gap, i] : short_of)
    if (left >= pools[i].unit) {
      sizes[i] += pools[i].unit;
      left -= pools[i].unit;
    }
  return sizes;
}

}  // namespace

std::optional<Plan> scale_data(const Plan& plan, int32_t from, int32_t to) {
  const auto pools = pools_of(plan, from);
  const auto sizes = sizes_for(pools, from, to);
  Plan scaled = plan;
  for (auto& placement : scaled.placements) {
    const Span span = span_of(pools, placement);
    const auto at = [&](size_t pool) { return sizes.begin() + static_cast<std::ptrdiff_t>(pool); };
    const int32_t begin = std::accumulate(sizes.begin(), at(span.first), 0);
    auto& layout = placement.layout;
    layout.dp = std::accumulate(at(span.first), at(span.last), 0) / (layout.tp * layout.pp);
    if (layout.dp < 1) return std::nullopt;
    placement.devices.resize(static_cast<size_t>(layout.ranks()));
    std::iota(placement.devices.begin(), placement.devices.end(), begin);
  }
  return scaled;
}

std::optional<Plan> best_variant(const cluster::Cluster& cluster, const Job& job,
                                 const Calibration& calibration, const Plan& plan) {
  std::optional<Plan> best;
  double seconds = 0;
  const std::vector<Links> links = links_of(cluster, plan);
  std::map<std::vector<bool>, double> syncs;  // by which placements shard their weights: variants differ in
                                              // no more that matters to them
  const auto consider = [&](const Plan& candidate) {
    std::vector<bool> sharded;
    for (const Placement& placement : candidate.placements) sharded.push_back(placement.zero >= 3);
    const auto [sync, added] = syncs.try_emplace(std::move(sharded), 0);
    if (added) sync->second = weight_sync_time(cluster, job, candidate, calibration);
    const auto time = predict_if_fits(cluster, job, candidate, links, sync->second, calibration);
    if (!time || (best && time->total >= seconds)) return;
    best = candidate;
    seconds = time->total;
  };
  consider(plan);
  for (const bool recompute : {false, true})
    for (const int32_t zero : {1, 2, 3})
      for (const int32_t micro_batch : {1, 2, 4, 8, 16})
        for (const bool leaves : {false, true}) {
          Plan variant = plan;
          for (auto& placement : variant.placements) {
            placement.leaves_when_idle = leaves;
            if (placement.what.stage == Stage::generate) continue;
            placement.micro_batch = micro_batch;
            if (placement.what.stage != Stage::train) continue;
            placement.recompute = recompute;
            placement.zero = zero;
          }
          consider(variant);
        }
  return best;
}

}  // namespace nereus::plan
