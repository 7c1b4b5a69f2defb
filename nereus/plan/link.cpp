#include "nereus/plan/link.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace nereus::plan {
namespace {

/// Groups of ranks that talk to each other, and how often each machine's network is shared by them.
/// Not thread-safe.
class Crossings {
 public:
  Crossings(const cluster::Cluster& cluster, const std::vector<int32_t>& machines)
      : cluster_(cluster), machines_(machines), shares_(cluster.machines.size()) {}

  /// One group: its machines share their network with one more, if it leaves a machine.
  void add(const std::vector<int32_t>& devices) {
    touched_.clear();
    for (const int32_t device : devices) {
      const int32_t machine = machines_[static_cast<size_t>(device)];
      if (std::find(touched_.begin(), touched_.end(), machine) == touched_.end()) touched_.push_back(machine);
    }
    within_ = within_ || touched_.size() < devices.size() || touched_.size() < 2;
    if (touched_.size() < 2) return;
    for (const int32_t machine : touched_) ++shares_[static_cast<size_t>(machine)];
  }

  Link link(double inside) const {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    Link result{within_ ? inside : kNone, cluster_.link_latency};
    for (size_t index = 0; index < shares_.size(); ++index) {
      if (shares_[index] == 0) continue;
      const cluster::Machine& machine = cluster_.machines[index];
      result.latency = cluster_.network_latency;
      result.bandwidth = std::min(
          {result.bandwidth, machine.network_bandwidth / shares_[index], machine.kind.host_bandwidth});
    }
    return result;
  }

 private:
  const cluster::Cluster& cluster_;
  const std::vector<int32_t>& machines_;
  std::vector<int32_t> shares_, touched_;
  bool within_ = false;  ///< a group has neighbours in one machine
};

cluster::DeviceKind slowest_of(const cluster::Cluster& cluster, const Placement& placement,
                               const std::vector<int32_t>& machines) {
  cluster::DeviceKind slowest;
  int32_t last = -1;
  for (const int32_t device : placement.devices) {
    const int32_t machine = machines[static_cast<size_t>(device)];
    if (machine == last) continue;
    const cluster::DeviceKind& kind = cluster.machines[static_cast<size_t>(machine)].kind;
    if (last == -1) slowest = kind;
    last = machine;
    slowest.memory = std::min(slowest.memory, kind.memory);
    slowest.flops = std::min(slowest.flops, kind.flops);
    slowest.memory_bandwidth = std::min(slowest.memory_bandwidth, kind.memory_bandwidth);
    slowest.link_bandwidth = std::min(slowest.link_bandwidth, kind.link_bandwidth);
    slowest.host_bandwidth = std::min(slowest.host_bandwidth, kind.host_bandwidth);
  }
  return slowest;
}

/// Link of the groups of `size` ranks that are `stride` apart, for each start in `starts`.
template <class Starts>
Link axis(const cluster::Cluster& cluster, const Placement& placement, const std::vector<int32_t>& machines,
          double inside, int32_t size, int32_t stride, const Starts& starts) {
  Crossings crossings(cluster, machines);
  std::vector<int32_t> group(static_cast<size_t>(size));
  starts([&](int32_t start) {
    for (int32_t i = 0; i < size; ++i)
      group[static_cast<size_t>(i)] = placement.devices[static_cast<size_t>(start + i * stride)];
    crossings.add(group);
  });
  return crossings.link(inside);
}

}  // namespace

Links links_of(const cluster::Cluster& cluster, const Placement& placement) {
  const std::vector<int32_t> machines = cluster::machine_of_each(cluster);
  const auto [dp, pp, tp] = placement.layout;
  Links links{.slowest = slowest_of(cluster, placement, machines), .tensor = {}, .pipeline = {}, .data = {}};
  const double inside = links.slowest.link_bandwidth;
  links.tensor = axis(cluster, placement, machines, inside, tp, 1, [&](const auto& group) {
    for (int32_t start = 0; start < dp * pp * tp; start += tp) group(start);
  });
  // The hops of a pipeline are all busy at once: each is a group of its own.
  links.pipeline = axis(cluster, placement, machines, inside, std::min(pp, 2), tp, [&](const auto& group) {
    for (int32_t start = 0; pp > 1 && start < dp * pp * tp; ++start) {
      if (start / tp % pp < pp - 1) group(start);
    }
  });
  links.data = axis(cluster, placement, machines, inside, dp, pp * tp, [&](const auto& group) {
    for (int32_t start = 0; start < pp * tp; ++start) group(start);
  });
  return links;
}

std::vector<Links> links_of(const cluster::Cluster& cluster, const Plan& plan) {
  std::vector<Links> links;
  for (const Placement& placement : plan.placements) links.push_back(links_of(cluster, placement));
  return links;
}

namespace {

/// In which every one of the ranks has heard of all others: the logarithm to base 2, rounded up.
double rounds(int32_t ranks) {
  return std::bit_width(static_cast<uint32_t>(ranks - 1));
}

}  // namespace

double all_reduce(const Link& link, int32_t ranks, double bytes) {
  if (ranks < 2) return 0;
  const double doubling = rounds(ranks) * (bytes / link.bandwidth + link.latency);
  return std::min(doubling, 2 * all_gather(link, ranks, bytes));
}

double all_gather(const Link& link, int32_t ranks, double bytes) {
  if (ranks < 2) return 0;
  return bytes * (ranks - 1) / ranks / link.bandwidth + rounds(ranks) * link.latency;
}

}  // namespace nereus::plan
