#include "nereus/elastic/cost.h"

#include <algorithm>
#include <cmath>

namespace nereus::elastic {
namespace {

/// The longest chain of nodes. Transfers of one bundle that share an endpoint share its time; a transfer that
/// passes a stream on runs a message behind the one it receives.
class LongestPath {
 public:
  LongestPath(const cluster::Cluster& cluster, const Places& places, const Graph& graph, const Loads& loads,
              int64_t message_bytes)
      : cluster_(cluster),
        places_(places),
        graph_(graph),
        loads_(loads),
        message_bytes_(message_bytes),
        begin_(graph.nodes.size(), 0),
        end_(graph.nodes.size(), 0),
        in_(2 * static_cast<size_t>(places.count() + 1), 0),
        out_(in_) {}

  double seconds() {
    double last = 0;
    for (int32_t i = 0; i < graph_.count();) {
      int32_t end = i + 1;
      while (end < graph_.count() && node(end).bundle == node(i).bundle) ++end;
      add_transfers(i, end, 1);
      for (int32_t j = i; j < end; ++j) last = std::max(last, visit(j));
      add_transfers(i, end, 0);
      i = end;
    }
    return last;
  }

 private:
  const Node& node(int32_t i) const { return graph_.nodes[static_cast<size_t>(i)]; }

  /// A place has one link to its machine and one to the outside.
  size_t slot(const Node& n, int32_t place) const {
    return 2 * static_cast<size_t>(place) + (loads_.distance(n.source, n.place) == Distance::remote ? 1 : 0);
  }

  /// Sums the seconds of each endpoint's transfers, or clears the sums.
  void add_transfers(int32_t first, int32_t last, double factor) {
    for (int32_t i = first; i < last; ++i) {
      const Node& n = node(i);
      if (n.action != Action::transfer) continue;
      const double alone = loads_.alone(n.source, n.place, n.bytes);
      double &in = in_[slot(n, n.place)], &out = out_[slot(n, n.source)];
      in = factor * (in + alone);
      out = factor * (out + alone);
    }
  }

  double duration(const Node& n) const {
    const auto bytes = static_cast<double>(n.bytes);
    switch (n.action) {
      case Action::transfer:
        return std::max(in_[slot(n, n.place)], out_[slot(n, n.source)]);
      case Action::stage_out:
        return loads_.alone(n.source, n.place, n.bytes);
      case Action::copy:
      case Action::recreate:
        if (n.source != n.place) return loads_.alone(n.source, n.place, n.bytes);
        return places_.is_device(n.place) ? 2 * bytes / cluster_.kind(n.place).memory_bandwidth : 0;
      case Action::allocate:
      case Action::release:
      case Action::create:
      case Action::commit:
        return 0;
    }
    return 0;
  }

  double visit(int32_t i) {
    const Node& n = node(i);
    double begin = 0, end = 0;
    for (const int32_t before : graph_.predecessors(i)) {
      const auto b = static_cast<size_t>(before);
      const Node& p = node(before);
      if (n.action == Action::transfer && n.depth > 0 && p.action == Action::transfer) {
        const double message = loads_.alone(p.source, p.place, std::min(p.bytes, message_bytes_));
        begin = std::max(begin, begin_[b] + message);
        end = std::max(end, end_[b] + message);
      } else {
        begin = std::max(begin, end_[b]);
      }
    }
    begin_[static_cast<size_t>(i)] = begin;
    end_[static_cast<size_t>(i)] = std::max(end, begin + duration(n));
    return end_[static_cast<size_t>(i)];
  }

  const cluster::Cluster& cluster_;
  const Places& places_;
  const Graph& graph_;
  const Loads& loads_;
  int64_t message_bytes_;
  std::vector<double> begin_, end_;  // seconds by node
  std::vector<double> in_, out_;     // seconds by slot, of the bundle at hand
};

/// Whether ranks first, first + stride, ... of the placement lie on several machines.
bool crosses(const cluster::Cluster& cluster, const plan::Placement& placement, int32_t stride,
             int32_t count) {
  const int32_t machine = cluster.machine_of(placement.devices[0]);
  for (int32_t i = 1; i < count; ++i) {
    if (cluster.machine_of(placement.devices[static_cast<size_t>(i * stride)]) != machine) return true;
  }
  return false;
}

/// Adds the totals of all nodes. Returned: bytes received by place.
std::vector<int64_t> add_nodes(const Places& places, const Graph& graph, int64_t message_bytes, Loads& loads,
                               Cost& cost) {
  std::vector<int64_t> received(static_cast<size_t>(places.count()), 0);
  for (const Node& node : graph.nodes) {
    const bool link = node.action == Action::transfer || node.action == Action::stage_out ||
                      (node.action == Action::copy && node.source != node.place);
    if (link) {
      const int64_t messages = (node.bytes + message_bytes - 1) / message_bytes;
      loads.add(node.source, node.place, node.bytes, messages);
      cost.messages += messages;
    }
    if (node.action == Action::copy) cost.copied_bytes += node.bytes;
    if (node.action != Action::transfer) continue;
    received[static_cast<size_t>(node.place)] += node.bytes;
    cost.moved_bytes += node.bytes;
    if (loads.distance(node.source, node.place) == Distance::remote) cost.network_bytes += node.bytes;
  }
  return received;
}

/// Seconds until the last place has checked what it received, and all have told each other.
double verification(const cluster::Cluster& cluster, const Places& places,
                    const std::vector<int64_t>& received, const CostOptions& options) {
  double slowest = 0;
  for (int32_t place = 0; place < places.count(); ++place) {
    const double bandwidth = places.is_device(place)
                                 ? options.verify_share * cluster.kind(place).memory_bandwidth
                                 : options.host_verify;
    slowest = std::max(slowest, static_cast<double>(received[static_cast<size_t>(place)]) / bandwidth);
  }
  return slowest > 0 ? slowest + 2 * cluster.network_latency * std::ceil(std::log2(places.count())) : 0;
}

}  // namespace

double group_setup(const cluster::Cluster& cluster, const plan::Placement& placement,
                   const CostOptions& options) {
  const plan::Layout& layout = placement.layout;
  double seconds = 0;
  int32_t stride = 1;
  for (const int32_t size : {layout.tp, layout.pp, layout.dp}) {
    if (size > 1) {
      seconds += crosses(cluster, placement, stride, size) ? options.network_group : options.local_group;
      seconds += cluster.network_latency * std::ceil(std::log2(size));
    }
    stride *= size;
  }
  return seconds;
}

double least_seconds(const cluster::Cluster& cluster, const Places& places, const Loads& loads,
                     const std::vector<int64_t>& received, bool changed, const CostOptions& options) {
  constexpr double kRounding = 1 - 1e-9;  // sums in another order
  return (loads.busiest() + verification(cluster, places, received, options) +
          (changed ? options.warm_up : 0)) *
         kRounding;
}

Cost cost_of(const cluster::Cluster& cluster, const Places& places, const Cut& cut, const Schedule& schedule,
             const std::vector<plan::Placement>& changed, const Wire& wire, const CostOptions& options) {
  Cost cost;
  Loads loads(cluster, places, wire.checkpoint_bandwidth, wire.messages_in_flight);
  const auto received = add_nodes(places, schedule.graph, wire.message_bytes, loads, cost);
  for (const PlaceBytes& fill : cut.fill) cost.needed_bytes += fill.bytes;
  cost.staged_bytes = schedule.staged_bytes;
  cost.bound = loads.busiest();
  cost.busiest = loads.busiest_name();
  cost.path = LongestPath(cluster, places, schedule.graph, loads, wire.message_bytes).seconds();
  cost.transfer = std::max(cost.path, loads.busiest_with_latency());
  for (const plan::Placement& placement : changed)
    cost.group_setup += group_setup(cluster, placement, options);
  cost.verification = verification(cluster, places, received, options);
  cost.warm_up = changed.empty() ? 0 : options.warm_up;
  cost.total =
      cost.transfer + (options.groups_ahead ? 0 : cost.group_setup) + cost.verification + cost.warm_up;
  return cost;
}

}  // namespace nereus::elastic
