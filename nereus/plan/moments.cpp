#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "nereus/plan/memory.h"
#include "nereus/plan/model_size.h"
#include "nereus/plan/work.h"

namespace nereus::plan {
namespace {

constexpr size_t kMostStages = 32;  ///< of a plan

/// A placement with what all its ranks hold.
struct Held {
  const Placement* placement = nullptr;
  std::vector<Footprint> footprints;  ///< by pipeline index
  size_t weights = 0;                 ///< the first placement that uses the same copy of the weights
  double all_kv = 0;                  ///< bytes that all sequences of a replica can fill
};

double all_kv_bytes(const Job& job, const Placement& placement) {
  if (placement.what.stage != Stage::generate) return 0;
  const double each = in_blocks(static_cast<double>(longest_sequence(job))) *
                      kv_bytes(job.find(placement.what.role)->config, placement.layout, job.weight_bytes);
  return each * static_cast<double>(sequences_of_replica(job, placement));
}

std::vector<Held> held_by(const Job& job, const Plan& plan) {
  std::vector<Held> result;
  for (const Placement& placement : plan.placements) {
    Held held{.placement = &placement, .footprints = {}, .weights = result.size(), .all_kv = 0};
    for (int32_t p = 0; p < placement.layout.pp; ++p) held.footprints.push_back(footprint(job, placement, p));
    for (size_t other = 0; other < result.size(); ++other) {
      if (!shares_weights(*result[other].placement, placement)) continue;
      held.weights = other;
      break;
    }
    held.all_kv = all_kv_bytes(job, placement);
    result.push_back(std::move(held));
  }
  return result;
}

/// Pipeline indices of a plan's placements on each device, -1 where one is not there: a row a device.
class Rows {
 public:
  Rows(const Plan& plan, int32_t devices)
      : width_(plan.placements.size()), indices_(static_cast<size_t>(devices) * width_, -1) {
    for (size_t i = 0; i < width_; ++i) {
      const Layout& layout = plan.placements[i].layout;
      auto device = plan.placements[i].devices.begin();
      for (int32_t data = 0; data < layout.dp; ++data) {
        for (int32_t p = 0; p < layout.pp; ++p) {
          for (int32_t t = 0; t < layout.tp; ++t) indices_[static_cast<size_t>(*device++) * width_ + i] = p;
        }
      }
    }
  }

  std::span<const int32_t> of(size_t device) const { return {&indices_[device * width_], width_}; }

 private:
  size_t width_;
  std::vector<int32_t> indices_;
};

struct Before {
  bool operator()(std::span<const int32_t> a, std::span<const int32_t> b) const {
    return std::ranges::lexicographical_compare(a, b);
  }
};

/// All that is on a device while `running` runs.
Ledger ledger_of(const std::vector<Held>& held, std::span<const int32_t> row, size_t running) {
  Ledger result;
  std::array<double, kMostStages> weights{};  // of each copy
  for (size_t i = 0; i < row.size(); ++i) {
    const Held& here = held[i];
    if (row[i] < 0 || (i != running && here.placement->leaves_when_idle)) continue;
    const Footprint& footprint = here.footprints[static_cast<size_t>(row[i])];
    const Ledger& ledger = i == running ? footprint.running : footprint.idle;
    double& shared = weights[here.weights];
    shared = std::max(shared, ledger[Component::weights]);
    // What is not trained holds nothing but weights while it is idle.
    if (i != running && here.placement->what.stage != Stage::train) continue;
    Ledger rest = ledger;
    rest[Component::weights] = 0;
    result += rest;
  }
  for (size_t i = 0; i < held.size(); ++i) result[Component::weights] += weights[i];
  return result;
}

DevicePeak moment(const std::vector<Held>& held, std::span<const int32_t> row, size_t running,
                  const cluster::DeviceKind& kind, double utilization) {
  DevicePeak peak{.device = 0,
                  .stage = held[running].placement->what,
                  .ledger = ledger_of(held, row, running),
                  .kv_pool = 0,
                  .limit = kind.memory * utilization};
  peak.ledger[Component::context] = kind.context;
  if (peak.stage.stage == Stage::generate) {
    const double least = peak.ledger[Component::kv_pool];
    peak.kv_pool = std::clamp(peak.free() + least, least, std::max(least, held[running].all_kv));
    peak.ledger[Component::kv_pool] = peak.kv_pool;
  }
  return peak;
}

/// `all`: of every device, else of the first of those in a row of machines that hold the same.
std::vector<DevicePeak> moments_of(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
                                   bool all) {
  const std::vector<Held> held = held_by(job, plan);
  const Rows rows(plan, cluster.devices());
  const std::vector<int32_t> machines = cluster::machine_of_each(cluster);
  std::vector<DevicePeak> result;
  std::map<std::span<const int32_t>, size_t, Before> alike;  // where in the result the first such device is
  const cluster::DeviceKind* kind = nullptr;
  for (size_t device = 0; device < machines.size(); ++device) {
    const cluster::DeviceKind& here = cluster.machines[static_cast<size_t>(machines[device])].kind;
    if (kind == nullptr || (kind != &here && !(here == *kind))) alike.clear();
    kind = &here;
    const auto row = rows.of(device);
    const bool like_previous = !alike.empty() && std::ranges::equal(row, rows.of(device - 1));
    if (like_previous && !all) continue;
    const auto [first, added] = alike.try_emplace(row, result.size());
    if (!added && !all) continue;
    size_t copied = first->second;
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] < 0) continue;
      result.push_back(added ? moment(held, row, i, here, job.utilization) : DevicePeak(result[copied++]));
      result.back().device = static_cast<int32_t>(device);
    }
  }
  return result;
}

}  // namespace

std::vector<DevicePeak> moments(const cluster::Cluster& cluster, const Job& job, const Plan& plan) {
  return moments_of(cluster, job, plan, true);
}

std::vector<DevicePeak> distinct_moments(const cluster::Cluster& cluster, const Job& job, const Plan& plan) {
  return moments_of(cluster, job, plan, false);
}

std::vector<DevicePeak> peaks(const cluster::Cluster& cluster, const Job& job, const Plan& plan) {
  std::vector<DevicePeak> result;
  for (const DevicePeak& moment : moments(cluster, job, plan)) {
    if (result.empty() || result.back().device != moment.device) {
      result.push_back(moment);
    } else if (moment.ledger.total() > result.back().ledger.total()) {
      result.back() = moment;
    }
  }
  return result;
}

}  // namespace nereus::plan
