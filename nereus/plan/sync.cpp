#include <algorithm>
#include <cmath>
#include <vector>

#include "nereus/plan/memory.h"
#include "nereus/plan/model_size.h"
#include "nereus/plan/time.h"

namespace nereus::plan {
namespace {

/// A share of the model: an interval of its layers and one of its tensors' divided dim, in [0, 1).
struct Share {
  double layers_begin = 0, layers_end = 0, tensor_begin = 0, tensor_end = 0;
  double size() const { return (layers_end - layers_begin) * (tensor_end - tensor_begin); }
};

Share share_of(const Layout& layout, int32_t rank) {
  const double pipeline = rank / layout.tp % layout.pp, tensor = rank % layout.tp;
  return {pipeline / layout.pp, (pipeline + 1) / layout.pp, tensor / layout.tp, (tensor + 1) / layout.tp};
}

double common(const Share& a, const Share& b) {
  const double layers = std::min(a.layers_end, b.layers_end) - std::max(a.layers_begin, b.layers_begin);
  const double tensor = std::min(a.tensor_end, b.tensor_end) - std::max(a.tensor_begin, b.tensor_begin);
  return std::max(0.0, layers) * std::max(0.0, tensor);
}

/// Shares of the model by device (of its first rank there) and sums by machine.
class Holders {
 public:
  Holders(const cluster::Cluster& cluster, const std::vector<int32_t>& machines, const Placement& placement)
      : ranks_(machines.size(), -1), shares_(cluster.machines.size(), 0) {
    const Layout& layout = placement.layout;
    const int32_t model_ranks = layout.pp * layout.tp;
    std::vector<bool> seen(cluster.machines.size() * static_cast<size_t>(model_ranks), false);
    for (int32_t rank = 0; rank < layout.ranks(); ++rank) {
      const auto device = static_cast<size_t>(placement.devices[static_cast<size_t>(rank)]);
      ranks_[device] = rank;
      const auto machine = static_cast<size_t>(machines[device]);
      const auto part = machine * static_cast<size_t>(model_ranks) + static_cast<size_t>(rank % model_ranks);
      if (seen[part]) continue;
      seen[part] = true;
      shares_[machine] += 1.0 / model_ranks;
    }
  }

  int32_t rank(int32_t device) const { return ranks_[static_cast<size_t>(device)]; }
  /// Part of the model that the machine's devices hold together.
  double machine(size_t index) const { return shares_[index]; }

 private:
  std::vector<int32_t> ranks_;
  std::vector<double> shares_;
};

/// Bytes that travel: all weights, or the adapter alone where the base is frozen.
double trained_bytes(const Job& job, const Model& model) {
  const RankSize size = rank_size(model, {}, 0);
  return job.weight_bytes * (model.lora_rank > 0 ? size.adapter : size.weights);
}

}  // namespace

double sync_time(const cluster::Cluster& cluster, const Job& job, const Placement& from, const Placement& to,
                 const Calibration& calibration) {
  if (shares_weights(from, to)) return 0;
  const std::vector<int32_t> machines = cluster::machine_of_each(cluster);
  const double bytes = trained_bytes(job, *job.find(from.what.role));
  const double sharded = from.zero >= 3 ? from.layout.dp : 1;
  const Holders source(cluster, machines, from), target(cluster, machines, to);
  double seconds = 0;
  bool network = false;
  for (int32_t rank = 0; rank < to.layout.ranks(); ++rank) {
    const int32_t device = to.devices[static_cast<size_t>(rank)], held = source.rank(device);
    const Share needed = share_of(to.layout, rank);
    const double there = held < 0 ? 0 : common(needed, share_of(from.layout, held)) / sharded;
    const auto machine = static_cast<size_t>(machines[static_cast<size_t>(device)]);
    if (cluster.machines[machine].devices < 2) continue;  // it all comes over the network
    seconds =
        std::max(seconds, bytes * (needed.size() - there) / cluster.machines[machine].kind.link_bandwidth);
  }
  // One copy of what a machine lacks enters it; its devices pass it on among themselves.
  for (size_t machine = 0; machine < cluster.machines.size(); ++machine) {
    const double lacking = std::min(1.0, target.machine(machine)) - source.machine(machine) / sharded;
    if (lacking <= 1e-9) continue;
    network = true;
    const cluster::Machine& entered = cluster.machines[machine];
    seconds = std::max(
        seconds,
        bytes * lacking / std::min(entered.network_bandwidth, entered.devices * entered.kind.host_bandwidth));
  }
  const double messages = std::ceil(std::log2(1 + from.layout.ranks() + to.layout.ranks()));
  const double latency = messages * (network ? cluster.network_latency : cluster.link_latency);
  return (seconds + latency) * calibration.factor(Operation::weight_sync, regime_of(to));
}

}  // namespace nereus::plan
