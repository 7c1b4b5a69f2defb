#include <algorithm>
#include <compare>
#include <map>

#include "nereus/plan/memory.h"
#include "nereus/plan/model_size.h"
#include "nereus/plan/work.h"

namespace nereus::plan {
namespace {

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

/// A placement on one device.
struct Place {
  size_t placement = 0;
  int32_t pipeline = 0;

  friend auto operator<=>(const Place&, const Place&) = default;
};

std::vector<std::vector<Place>> places_by_device(const Plan& plan, int32_t devices) {
  std::vector<std::vector<Place>> result(static_cast<size_t>(devices));
  for (size_t i = 0; i < plan.placements.size(); ++i) {
    const Placement& placement = plan.placements[i];
    for (size_t rank = 0; rank < placement.devices.size(); ++rank) {
      const auto pipeline = static_cast<int32_t>(rank) / placement.layout.tp % placement.layout.pp;
      result[static_cast<size_t>(placement.devices[rank])].push_back({i, pipeline});
    }
  }
  return result;
}

/// All that is on a device while `running` runs.
Ledger ledger_of(const std::vector<Held>& held, const std::vector<Place>& places, size_t running) {
  Ledger result;
  std::vector<double> weights(held.size(), 0);
  for (const Place& place : places) {
    const Held& here = held[place.placement];
    if (place.placement != running && here.placement->leaves_when_idle) continue;
    const Footprint& footprint = here.footprints[static_cast<size_t>(place.pipeline)];
    Ledger ledger = place.placement == running ? footprint.running : footprint.idle;
    double& shared = weights[here.weights];
    shared = std::max(shared, ledger[Component::weights]);
    ledger[Component::weights] = 0;
    result += ledger;
  }
  for (const double copy : weights) result[Component::weights] += copy;
  return result;
}

DevicePeak moment(const std::vector<Held>& held, const std::vector<Place>& places, size_t running,
                  const cluster::DeviceKind& kind, double utilization) {
  DevicePeak peak{.device = 0,
                  .stage = held[running].placement->what,
                  .ledger = ledger_of(held, places, running),
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
  const auto places = places_by_device(plan, cluster.devices());
  const std::vector<int32_t> machines = cluster::machine_of_each(cluster);
  std::vector<DevicePeak> result;
  std::map<std::vector<Place>, size_t> alike;  // places, and where in the result the first such device is
  const cluster::DeviceKind* kind = nullptr;
  for (size_t device = 0; device < places.size(); ++device) {
    const cluster::DeviceKind& here = cluster.machines[static_cast<size_t>(machines[device])].kind;
    if (kind == nullptr || !(here == *kind)) alike.clear();
    kind = &here;
    const auto [first, added] = alike.try_emplace(places[device], result.size());
    if (!added && !all) continue;
    for (size_t i = 0; i < places[device].size(); ++i) {
      result.push_back(added
                           ? moment(held, places[device], places[device][i].placement, here, job.utilization)
                           : DevicePeak(result[first->second + i]));
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
