#include <algorithm>

#include "nereus/plan/memory.h"
#include "nereus/plan/remedy.h"

namespace nereus::plan {
namespace {

/// Rounding of sums: a pool is filled to the limit exactly.
constexpr double kSlack = 1 + 1e-9;
/// Longer than any context.
constexpr int64_t kMostTokens = int64_t{1} << 27;

Component largest(const Ledger& ledger) {
  size_t best = 0;
  for (size_t i = 0; i < kComponents; ++i) {
    if (static_cast<Component>(i) != Component::context && ledger.bytes[i] > ledger.bytes[best]) best = i;
  }
  return static_cast<Component>(best);
}

/// Bytes that every machine's memory holds of placements that leave.
std::vector<double> host_bytes(const cluster::Cluster& cluster, const Job& job, const Plan& plan) {
  const std::vector<int32_t> machines = cluster::machine_of_each(cluster);
  std::vector<double> result(cluster.machines.size(), 0);
  for (const Placement& placement : plan.placements) {
    if (!placement.leaves_when_idle) continue;
    std::vector<double> bytes;
    for (int32_t p = 0; p < placement.layout.pp; ++p)
      bytes.push_back(footprint(job, placement, p).idle.total());
    for (size_t rank = 0; rank < placement.devices.size(); ++rank) {
      const auto pipeline = rank / static_cast<size_t>(placement.layout.tp) % bytes.size();
      result[static_cast<size_t>(machines[static_cast<size_t>(placement.devices[rank])])] += bytes[pipeline];
    }
  }
  return result;
}

Status check_hosts(const cluster::Cluster& cluster, const Job& job, const Plan& plan) {
  const std::vector<double> bytes = host_bytes(cluster, job, plan);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const cluster::Machine& machine = cluster.machines[i];
    if (bytes[i] <= machine.host_memory * job.utilization * kSlack) continue;
    return fail(
        "machine {} ({}): what leaves its devices when idle takes {:.1f} GB of host memory, of which {:.1f} "
        "GB may be filled; let less leave",
        i, machine.name, bytes[i] / 1e9, machine.host_memory * job.utilization / 1e9);
  }
  return {};
}

}  // namespace

bool fits(const cluster::Cluster& cluster, const Job& job, const Plan& plan) {
  return fits(cluster, job, plan, distinct_moments(cluster, job, plan));
}

bool fits(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
          const std::vector<DevicePeak>& moments) {
  return std::all_of(moments.begin(), moments.end(),
                     [](const DevicePeak& m) { return m.ledger.total() <= m.limit * kSlack; }) &&
         check_hosts(cluster, job, plan).has_value();
}

Status check_memory(const cluster::Cluster& cluster, const Job& job, const Plan& plan) {
  if (fits(cluster, job, plan)) return {};
  const std::vector<DevicePeak> all = moments(cluster, job, plan);
  const DevicePeak worst = tightest(all);
  if (worst.ledger.total() <= worst.limit * kSlack) return check_hosts(cluster, job, plan);
  const Component component = largest(worst.ledger);
  return fail("{:.1f} GB short on device {} ({}) during {}: {}, {:.1f} of {:.1f} GB needed; {}",
              -worst.free() / 1e9, worst.device, cluster.kind(worst.device).name, to_string(worst.stage),
              name_of(component), worst.ledger[component] / 1e9, worst.ledger.total() / 1e9,
              remedy(cluster, job, plan, worst));
}

int64_t longest_response(const cluster::Cluster& cluster, const Job& job, const Plan& plan) {
  Job changed = job;
  const auto fits_with = [&](int64_t response) {
    changed.lengths.max_response = response;
    return fits(cluster, changed, plan);
  };
  int64_t low = 0, high = kMostTokens;
  while (low < high) {
    const int64_t middle = high - (high - low) / 2;
    if (fits_with(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace nereus::plan
