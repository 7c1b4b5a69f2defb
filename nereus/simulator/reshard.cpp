#include "nereus/simulator/reshard.h"

#include <algorithm>
#include <utility>

#include "nereus/simulator/axis.h"

namespace nereus::simulator {

namespace {

/// Parameters of the common box.
double overlap(const Part& a, const Part& b) {
  const double depth = std::min(a.end, b.end) - std::max(a.begin, b.begin);
  const double width = std::min(a.high, b.high) - std::max(a.low, b.low);
  return depth > 0 && width > 0 ? depth * width : 0;
}

/// Depth at which a pipeline stage begins; `index` may be the number of stages.
double depth_of(const plan::Layout& layout, const ModelSize& size, int64_t layers, int32_t index) {
  if (index == 0) return 0;
  if (index == layout.pp) return size.embedding + static_cast<double>(layers) * size.layer + size.head;
  return size.embedding +
         static_cast<double>(plan::layers_of_stage(layers, layout.pp, index).first) * size.layer;
}

bool contains(const std::vector<int32_t>& list, int32_t device) {
  return std::ranges::find(list, device) != list.end();
}

/// Collects flows, summed by pair of devices; -1 is the storage.
class Collector {
 public:
  explicit Collector(const Links& links)
      : links_(links), load_(static_cast<size_t>(links.devices()), 0), entry_(load_.size(), -1) {}

  void send(const Part& source, const Part& target, double bytes) {
    std::ranges::fill(entry_, -1);
    for (const int32_t device : target.holders) {
      if (contains(source.holders, device)) continue;
      int32_t& first = entry_[static_cast<size_t>(links_.machine(device))];
      const int32_t from = first >= 0 ? first : pick(source, device, has_local(source, device));
      add(from, device, bytes);
      if (first < 0) first = device;
    }
  }

  Reshard take() {
    std::ranges::stable_sort(sent_, {}, [](const Sent& sent) { return std::pair(sent.from, sent.to); });
    Reshard result;
    for (size_t i = 0; i < sent_.size();) {
      const auto [from, to, first] = sent_[i];
      double bytes = first;
      while (++i < sent_.size() && sent_[i].from == from && sent_[i].to == to) bytes += sent_[i].bytes;
      (from < 0 ? result.stored : result.moved) += bytes;
      result.flows.push_back(from < 0 ? links_.from_storage(to, bytes) : links_.flow(from, to, bytes));
    }
    return result;
  }

 private:
  bool has_local(const Part& source, int32_t device) const {
    return std::ranges::any_of(source.holders, [&](int32_t d) { return links_.same_machine(d, device); });
  }

  int32_t pick(const Part& source, int32_t device, bool inside) {
    int32_t best = -1;
    for (const int32_t holder : source.holders) {
      if (inside && !links_.same_machine(holder, device)) continue;
      if (best < 0 || load(holder) < load(best)) best = holder;
    }
    return best;
  }

  void add(int32_t from, int32_t to, double bytes) {
    sent_.push_back({from, to, bytes});
    if (from >= 0) load(from) += bytes;
  }

  double& load(int32_t device) { return load_[static_cast<size_t>(device)]; }

  struct Sent {
    int32_t from = 0, to = 0;
    double bytes = 0;
  };

  const Links& links_;
  std::vector<Sent> sent_;
  std::vector<double> load_;    ///< bytes that a device has sent
  std::vector<int32_t> entry_;  ///< by machine, of what is sent: a device that has got it there
};

}  // namespace

std::vector<Part> parts_of(const plan::Placement& placement, const ModelSize& size, int64_t layers,
                           bool sharded, const std::vector<bool>& lost) {
  const auto& layout = placement.layout;
  const int32_t cuts = sharded ? layout.dp : 1;
  std::vector<Part> parts;
  for (int32_t p = 0; p < layout.pp; ++p) {
    const double begin = depth_of(layout, size, layers, p), end = depth_of(layout, size, layers, p + 1);
    for (int32_t t = 0; t < layout.tp; ++t)
      for (int32_t cut = 0; cut < cuts; ++cut) {
        const double step = (end - begin) / cuts;
        parts.push_back({begin + cut * step,
                         begin + (cut + 1) * step,
                         static_cast<double>(t) / layout.tp,
                         static_cast<double>(t + 1) / layout.tp,
                         {}});
      }
  }
  for (int32_t rank = 0; rank < layout.ranks(); ++rank) {
    const int32_t device = placement.devices[static_cast<size_t>(rank)];
    if (!lost.empty() && lost[static_cast<size_t>(device)]) continue;
    const RankIndex at = index_of(layout, rank);
    const int32_t part = (at.pipeline * layout.tp + at.tensor) * cuts + (sharded ? at.data : 0);
    parts[static_cast<size_t>(part)].holders.push_back(device);
  }
  return parts;
}

void Reshard::add(Reshard other) {
  flows.insert(flows.end(), std::make_move_iterator(other.flows.begin()),
               std::make_move_iterator(other.flows.end()));
  moved += other.moved;
  stored += other.stored;
}

Reshard reshard(const Links& links, const std::vector<Part>& source, const std::vector<Part>& target,
                double bytes) {
  Collector collector(links);
  for (const auto& to : target)
    for (const auto& from : source)
      if (const double common = overlap(from, to); common > 0) collector.send(from, to, common * bytes);
  return collector.take();
}

}  // namespace nereus::simulator
