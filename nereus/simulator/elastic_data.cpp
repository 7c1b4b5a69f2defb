#include "nereus/simulator/elastic_data.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "nereus/control/membership.h"
#include "nereus/plan/memory.h"
#include "nereus/plan/search.h"
#include "nereus/plan/time.h"

namespace nereus::simulator {

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

Span span_of(const std::vector<Pool>& pools, const plan::Placement& placement) {
  const auto [low, high] = std::ranges::minmax(placement.devices);
  Span span;
  for (const auto& pool : pools) {
    if (pool.begin < low) ++span.first;
    if (pool.begin <= high) ++span.last;
  }
  return span;
}

std::vector<Pool> pools_of(const plan::Plan& plan, int32_t devices) {
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

std::optional<plan::Plan> scale_data(const plan::Plan& plan, int32_t from, int32_t to) {
  const auto pools = pools_of(plan, from);
  const auto sizes = sizes_for(pools, from, to);
  plan::Plan scaled = plan;
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

std::optional<plan::Plan> best_variant(const cluster::Cluster& cluster, const plan::Job& job,
                                       const plan::Plan& plan) {
  std::optional<plan::Plan> best;
  double seconds = 0;
  const auto consider = [&](const plan::Plan& candidate) {
    if (!plan::fits(cluster, job, candidate)) return;
    const double total = plan::predict(cluster, job, candidate, {}).total;
    if (best && total >= seconds) return;
    best = candidate;
    seconds = total;
  };
  consider(plan);
  for (const bool recompute : {false, true})
    for (const int32_t zero : {1, 2, 3})
      for (const int32_t micro_batch : {1, 2, 4, 8, 16})
        for (const bool leaves : {false, true}) {
          plan::Plan variant = plan;
          for (auto& placement : variant.placements) {
            placement.leaves_when_idle = leaves;
            if (placement.what.stage == plan::Stage::generate) continue;
            placement.micro_batch = micro_batch;
            if (placement.what.stage != plan::Stage::train) continue;
            placement.recompute = recompute;
            placement.zero = zero;
          }
          consider(variant);
        }
  return best;
}

Answer ElasticData::begin(const View& view) {
  return devices_changed(view);
}

Answer ElasticData::after_step(const View& view, const control::Observation& observation) {
  job_.lengths = observation.lengths;
  if (control::same_devices(view.cluster, before_)) return {};
  return follow(view);
}

Answer ElasticData::devices_changed(const View& view) {
  if (first_) return follow(view);
  plan::SearchOptions options;
  options.deadline = 60;  // not cut short by a busy machine
  const auto found = plan::search(view.cluster, job_, {}, options);
  if (found.best.empty()) return {Answer::Action::wait, {}, 0, 0, "no plan fits"};
  first_ = found.best.front().plan;
  first_devices_ = view.cluster.devices();
  running_ = first_;
  before_ = view.cluster;
  return {Answer::Action::change, *first_, found.best.front().time.total, 0, "the first plan"};
}

Answer ElasticData::follow(const View& view) {
  before_ = view.cluster;
  const auto scaled = scale_data(*first_, first_devices_, view.cluster.devices());
  running_ = scaled && tuned_ ? best_variant(view.cluster, job_, *scaled) : scaled;
  if (running_ && !plan::fits(view.cluster, job_, *running_)) running_.reset();
  if (!running_) return {Answer::Action::wait, {}, 0, 0, "the plan does not fit"};
  return {Answer::Action::change, *running_, 0, 0, "the data axis follows the devices"};
}

Answer ElasticData::out_of_memory(const View& view, const OutOfMemory& what) {
  before_ = view.cluster;
  const auto less = running_ ? with_less_memory(*running_, what.stage) : std::nullopt;
  if (!less) return {};
  running_ = less;
  first_ = less;
  first_devices_ = view.cluster.devices();
  return {Answer::Action::change, *less, 0, 0, what.what()};
}

}  // namespace nereus::simulator
