#include "nereus/simulator/network.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace nereus::simulator {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

size_t index(int32_t i) {
  return static_cast<size_t>(i);
}

/// Lists of indices, one after the other.
struct Lists {
  std::vector<size_t> first, values;

  std::span<const size_t> operator[](size_t list) const {
    return {values.data() + first[list], first[list + 1] - first[list]};
  }
};

/// Progressive filling: all unfixed flows share alike; the link (or limit) that binds first fixes its flows.
/// Set up once for flows of which some, then fewer run. Not thread-safe.
class Filling {
 public:
  Filling(const std::vector<double>& capacity, const std::vector<Flow>& flows)
      : flows_(flows), rates_(flows.size()) {
    std::vector<size_t> number(capacity.size(), 0), count;
    for (const Flow& flow : flows)
      for (const int32_t link : flow.links) ++number[index(link)];
    for (size_t link = 0; link < capacity.size(); ++link) {
      if (number[link] == 0) continue;
      count.push_back(std::exchange(number[link], capacity_.size()));
      capacity_.push_back(capacity[link]);
    }
    users_.first.push_back(0);
    for (const size_t users : count) users_.first.push_back(users_.first.back() + users);
    users_.values.resize(users_.first.back());
    std::vector<size_t> next = users_.first;
    links_.first.push_back(0);
    for (size_t f = 0; f < flows.size(); ++f) {
      for (const int32_t link : flows[f].links) {
        links_.values.push_back(number[index(link)]);
        users_.values[next[number[index(link)]]++] = f;
      }
      links_.first.push_back(links_.values.size());
    }
  }

  /// Rates by flow, of those that run.
  const std::vector<double>& rates(const std::vector<size_t>& running) {
    begin(running);
    while (true) {
      const double share = tightest();
      const size_t limited = next_limited();
      const double limit = limited < flows_.size() ? flows_[limited].rate_limit : kInfinite;
      if (share == kInfinite && limit == kInfinite) return rates_;
      if (limit < share)
        fix(limited, limit);
      else
        fix_links(share);
    }
  }

 private:
  static constexpr double kOpen = -1;

  void begin(const std::vector<size_t>& running) {
    left_ = capacity_;
    open_.assign(capacity_.size(), 0);
    rates_.assign(flows_.size(), 0);
    limited_.clear();
    next_ = 0;
    for (const size_t f : running) {
      for (const size_t link : links_[f]) ++open_[link];
      const double limit = flows_[f].rate_limit;
      if (limit > 0) limited_.push_back(f);
      rates_[f] = !links_[f].empty() ? kOpen : limit > 0 ? limit : kInfinite;
    }
    shares_.resize(capacity_.size());
    touched_.assign(capacity_.size(), true);
    busy_.resize(capacity_.size());
    std::iota(busy_.begin(), busy_.end(), size_t{0});
    std::sort(limited_.begin(), limited_.end(),
              [&](size_t a, size_t b) { return flows_[a].rate_limit < flows_[b].rate_limit; });
  }

  double share_of(size_t link) const { return std::max(left_[link], 0.0) / static_cast<double>(open_[link]); }

  double tightest() {
    double best = kInfinite;
    size_t kept = 0;
    for (const size_t link : busy_) {
      if (open_[link] == 0) continue;
      busy_[kept++] = link;
      if (touched_[link]) shares_[link] = share_of(link);
      touched_[link] = false;
      best = std::min(best, shares_[link]);
    }
    busy_.resize(kept);
    return best;
  }

  /// All links that bind at this share, at once: fixing the flows of one leaves the others' shares as they
  /// are, and makes larger ones no smaller.
  void fix_links(double share) {
    const double most = share * (1 + 1e-9);
    for (const size_t link : busy_) {
      if (shares_[link] > most || open_[link] == 0 || share_of(link) > most) continue;
      for (const size_t flow : users_[link])
        if (rates_[flow] == kOpen) fix(flow, share);
    }
  }

  size_t next_limited() {
    while (next_ < limited_.size() && rates_[limited_[next_]] != kOpen) ++next_;
    return next_ < limited_.size() ? limited_[next_] : flows_.size();
  }

  void fix(size_t flow, double rate) {
    rates_[flow] = rate;
    for (const size_t link : links_[flow]) {
      left_[link] -= rate;
      --open_[link];
      touched_[link] = true;
    }
  }

  const std::vector<Flow>& flows_;
  std::vector<double> capacity_;       ///< of the links that flows cross: all others are left out
  Lists links_, users_;                ///< links of each flow, flows of each link
  std::vector<double> left_, shares_;  ///< shares_: of each open flow, when last looked at
  std::vector<int32_t> open_;          ///< running flows of each link without a rate yet
  std::vector<uint8_t> touched_;       ///< whether the share of a link is another than when last looked at
  std::vector<size_t> busy_, limited_;
  size_t next_ = 0;
  std::vector<double> rates_;
};

}  // namespace

std::vector<double> fair_rates(const std::vector<double>& capacity, const std::vector<Flow>& flows) {
  std::vector<size_t> all(flows.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return Filling(capacity, flows).rates(all);
}

std::vector<double> drain(const std::vector<double>& capacity, const std::vector<Flow>& flows,
                          double tolerance) {
  std::vector<double> finish(flows.size(), 0), left(flows.size(), 0);
  std::vector<size_t> running;
  for (size_t f = 0; f < flows.size(); ++f) {
    left[f] = flows[f].bytes;
    if (left[f] > 0) running.push_back(f);
  }
  Filling filling(capacity, flows);
  double now = 0;
  while (!running.empty()) {
    const auto& rates = filling.rates(running);
    double next = kInfinite;
    for (const size_t f : running) next = std::min(next, left[f] / rates[f]);
    next *= 1 + tolerance;
    std::erase_if(running, [&](size_t f) {
      const double needed = left[f] / rates[f];
      if (needed <= next) {
        finish[f] = now + needed;
        return true;
      }
      left[f] -= rates[f] * next;
      return false;
    });
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
