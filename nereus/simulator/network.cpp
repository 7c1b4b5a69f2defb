#include "nereus/simulator/network.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace nereus::simulator {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

size_t index(int32_t i) {
  return static_cast<size_t>(i);
}

/// Progressive filling: all unfixed flows share alike; the link (or limit) that binds first fixes its flows.
class Filling {
 public:
  Filling(const std::vector<double>& capacity, const std::vector<Flow>& flows)
      : flows_(flows), left_(capacity), users_(capacity.size()), rates_(flows.size(), -1) {
    for (size_t f = 0; f < flows.size(); ++f)
      for (const int32_t link : flows[f].links) users_[index(link)].push_back(f);
    for (const auto& users : users_) open_.push_back(users.size());
    for (size_t link = 0; link < users_.size(); ++link)
      if (!users_[link].empty()) busy_.push_back(link);
    for (size_t f = 0; f < flows.size(); ++f) {
      if (flows[f].rate_limit > 0) limited_.push_back(f);
      if (flows[f].links.empty()) rates_[f] = flows[f].rate_limit > 0 ? flows[f].rate_limit : kInfinite;
    }
    std::sort(limited_.begin(), limited_.end(),
              [&](size_t a, size_t b) { return flows[a].rate_limit < flows[b].rate_limit; });
  }

  std::vector<double> run() {
    while (true) {
      const double share = tightest();
      const size_t limited = next_limited();
      const double limit = limited < flows_.size() ? flows_[limited].rate_limit : kInfinite;
      if (share == kInfinite && limit == kInfinite) return std::move(rates_);
      if (limit < share)
        fix(limited, limit);
      else
        fix_links(share);
    }
  }

 private:
  double share_of(size_t link) const { return std::max(left_[link], 0.0) / static_cast<double>(open_[link]); }

  double tightest() {
    std::erase_if(busy_, [&](size_t link) { return open_[link] == 0; });
    double best = kInfinite;
    for (const size_t link : busy_) best = std::min(best, share_of(link));
    return best;
  }

  /// All links that bind at this share, at once: fixing the flows of one leaves the others' shares as they
  /// are.
  void fix_links(double share) {
    for (const size_t link : busy_) {
      if (open_[link] == 0 || share_of(link) > share * (1 + 1e-9)) continue;
      for (const size_t f : users_[link])
        if (rates_[f] < 0) fix(f, share);
    }
  }

  size_t next_limited() {
    while (next_ < limited_.size() && rates_[limited_[next_]] >= 0) ++next_;
    return next_ < limited_.size() ? limited_[next_] : flows_.size();
  }

  void fix(size_t flow, double rate) {
    rates_[flow] = rate;
    for (const int32_t link : flows_[flow].links) {
      left_[index(link)] -= rate;
      --open_[index(link)];
    }
  }

  const std::vector<Flow>& flows_;
  std::vector<double> left_;
  std::vector<std::vector<size_t>> users_;  ///< flows of each link
  std::vector<size_t> open_;                ///< of them without a rate yet
  std::vector<size_t> busy_, limited_;
  size_t next_ = 0;
  std::vector<double> rates_;
};

}  // namespace

std::vector<double> fair_rates(const std::vector<double>& capacity, const std::vector<Flow>& flows) {
  return Filling(capacity, flows).run();
}

std::vector<double> drain(const std::vector<double>& capacity, const std::vector<Flow>& flows,
                          double tolerance) {
  std::vector<double> finish(flows.size(), 0);
  std::vector<size_t> running;
  std::vector<Flow> left;
  for (size_t f = 0; f < flows.size(); ++f)
    if (flows[f].bytes > 0) running.push_back(f), left.push_back(flows[f]);
  double now = 0;
  while (!running.empty()) {
    const auto rates = fair_rates(capacity, left);
    double next = kInfinite;
    for (size_t i = 0; i < left.size(); ++i) next = std::min(next, left[i].bytes / rates[i]);
    next *= 1 + tolerance;
    size_t kept = 0;
    for (size_t i = 0; i < left.size(); ++i) {
      const double needed = left[i].bytes / rates[i];
      if (needed <= next) {
        finish[running[i]] = now + needed;
        continue;
      }
      left[i].bytes -= rates[i] * next;
      running[kept] = running[i];
      if (kept != i) left[kept] = std::move(left[i]);
      ++kept;
    }
    running.resize(kept);
    left.resize(kept);
    now += next;
  }
  return finish;
}

Links::Links(const cluster::Cluster& cluster, double link_efficiency, double network_efficiency,
             double storage) {
  for (size_t m = 0; m < cluster.machines.size(); ++m) {
    const auto& kind = cluster.machines[m].kind;
    for (int32_t d = 0; d < cluster.machines[m].devices; ++d) {
      machine_.push_back(static_cast<int32_t>(m));
      for (const double bandwidth :
           {kind.link_bandwidth, kind.link_bandwidth, kind.host_bandwidth, kind.host_bandwidth})
        capacity_.push_back(bandwidth * link_efficiency);
    }
  }
  first_network_ = static_cast<int32_t>(capacity_.size());
  for (const auto& machine : cluster.machines)
    capacity_.insert(capacity_.end(), 2, machine.network_bandwidth * network_efficiency);
  storage_ = static_cast<int32_t>(capacity_.size());
  capacity_.push_back(storage);
}

Flow Links::flow(int32_t from, int32_t to, double bytes) const {
  if (from == to) return {{}, bytes, 0};
  if (same_machine(from, to)) return {{port(from, link_out), port(to, link_in)}, bytes, 0};
  return {{port(from, host_out), network_out(from), network_in(to), port(to, host_in)}, bytes, 0};
}

Flow Links::to_host(int32_t device, double bytes) const {
  return {{port(device, host_out)}, bytes, 0};
}

Flow Links::from_host(int32_t device, double bytes) const {
  return {{port(device, host_in)}, bytes, 0};
}

Flow Links::from_storage(int32_t device, double bytes) const {
  return {{storage_, network_in(device), port(device, host_in)}, bytes, 0};
}

}  // namespace nereus::simulator
