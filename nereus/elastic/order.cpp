#include "nereus/elastic/order.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "nereus/elastic/room.h"

namespace nereus::elastic {
namespace {

/// Emits the nodes bundle by bundle.
class Scheduler {
 public:
  Scheduler(const Places& places, const PlaceSets& sets, const std::vector<ModelChange>& changes,
            const Cut& cut, const Routes& routes, const Memory& memory, const OrderOptions& options)
      : sets_(sets),
        cut_(cut),
        routes_(routes),
        options_(options),
        room_(places, sets, changes, cut, memory, options.keep_old, schedule_),
        allocated_(static_cast<size_t>(places.count()), -1),
        filled_(static_cast<size_t>(places.count()), false),
        sums_(static_cast<size_t>(places.count()), 0) {}

  Result<Schedule> run() {
    std::vector<int32_t> left(cut_.bundles.size());
    for (size_t i = 0; i < left.size(); ++i) left[i] = static_cast<int32_t>(i);
    done_.assign(left.size(), false);
    while (!left.empty()) {
      const auto next = choose(left);
      const int32_t bundle = *next;
      left.erase(next);
      if (auto status = emit(bundle); !status) return pass(status);
    }
    finish();
    return std::move(schedule_);
  }

 private:
  /// The first bundle that needs no staging, within the window.
  std::vector<int32_t>::iterator choose(std::vector<int32_t>& left) {
    if (options_.in_place || room_.enough_for_all()) return left.begin();
    auto last = left.begin() + std::min<std::ptrdiff_t>(options_.window, std::ssize(left));
    for (auto it = left.begin(); it != last; ++it) {
      const int32_t after = cut_.bundles[static_cast<size_t>(*it)].after;
      if ((after < 0 || done_[static_cast<size_t>(after)]) && room_.fits(*it)) return it;
    }
    return left.begin();
  }

  Status emit(int32_t index) {
    const Bundle& bundle = cut_.bundles[static_cast<size_t>(index)];
    if (auto status = allocate(index, bundle); !status) return status;
    const int32_t first = graph().count();
    copy(index, bundle);
    transfer(index);
    recreate(index, bundle);
    for (int32_t node = first; node < graph().count(); ++node) data_.push_back(node);
    room_.set_nodes(index, first, graph().count());
    if (!options_.in_place) room_.pend(index);
    done_[static_cast<size_t>(index)] = true;
    for (int32_t i = bundle.first_fill; i < bundle.last_fill; ++i) {
      const auto place = static_cast<size_t>(cut_.fill[static_cast<size_t>(i)].place);
      allocated_[place] = -1;
      filled_[place] = false;
    }
    return {};
  }

  Status allocate(int32_t index, const Bundle& bundle) {
    for (int32_t i = bundle.first_fill; i < bundle.last_fill; ++i) {
      const PlaceBytes& fill = cut_.fill[static_cast<size_t>(i)];
      filled_[static_cast<size_t>(fill.place)] = true;
      if (options_.in_place) continue;
      const Node node{.action = Action::allocate, .place = fill.place, .bundle = index, .bytes = fill.bytes};
      const auto number = room_.allocate(node);
      if (!number) return pass(number);
      allocated_[static_cast<size_t>(fill.place)] = *number;
    }
    return {};
  }

  /// Sums the bytes of the streams by place of one of their sets, over places with new pieces.
  void sum(const Bundle& bundle, int32_t Stream::*set) {
    touched_.clear();
    for (int32_t i = bundle.first_stream; i < bundle.last_stream; ++i) {
      const Stream& stream = cut_.streams[static_cast<size_t>(i)];
      for (const int32_t place : sets_[stream.*set]) {
        if (!filled_[static_cast<size_t>(place)]) continue;
        int64_t& bytes = sums_[static_cast<size_t>(place)];
        if (bytes == 0) touched_.push_back(place);
        bytes += stream.bytes;
      }
    }
    std::sort(touched_.begin(), touched_.end());
  }

  int64_t take(int32_t place) { return std::exchange(sums_[static_cast<size_t>(place)], 0); }

  void copy(int32_t index, const Bundle& bundle) {
    sum(bundle, &Stream::local);
    for (const int32_t place : touched_) {
      Node node{.action = Action::copy, .place = place, .source = place, .bundle = index};
      node.origin = place;
      node.bytes = take(place);
      before_.clear();
      add_allocation(place);
      read_from(node);
      graph().add(node, before_);
    }
  }

  void recreate(int32_t index, const Bundle& bundle) {
    sum(bundle, &Stream::recreate);
    for (const int32_t place : touched_) {
      Node node{.action = Action::recreate, .place = place, .source = place, .bundle = index};
      node.bytes = take(place);
      before_.clear();
      add_allocation(place);
      if (bundle.after >= 0) room_.add_writers(bundle.after, place, before_);
      graph().add(node, before_);
    }
  }

  /// One transfer for all streams of the bundle with the same endpoints and depth.
  void transfer(int32_t index) {
    const auto first = static_cast<size_t>(routes_.begin[static_cast<size_t>(index)]);
    const auto count = static_cast<size_t>(routes_.begin[static_cast<size_t>(index) + 1]) - first;
    std::vector<std::tuple<int32_t, int32_t, int32_t, uint32_t>> keys;
    keys.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const Hop& hop = routes_.hops[first + i];
      keys.emplace_back(hop.depth, hop.target, hop.source, static_cast<uint32_t>(i));
    }
    std::sort(keys.begin(), keys.end());
    std::vector<uint32_t> sorted;
    sorted.reserve(count);
    for (const auto& [depth, target, source, i] : keys) sorted.push_back(i);
    const auto key = [&](size_t i) {
      const auto& [depth, target, source, hop] = keys[i];
      return std::tie(depth, target, source);
    };
    hop_node_.assign(count, -1);
    for (size_t i = 0; i < count;) {
      size_t end = i + 1;
      while (end < count && key(end) == key(i)) ++end;
      add_transfer(index, {&routes_.hops[first], count}, {&sorted[i], end - i});
      i = end;
    }
  }

  void add_transfer(int32_t index, std::span<const Hop> hops, std::span<const uint32_t> together) {
    const Hop& like = hops[together[0]];
    Node node{.action = Action::transfer, .place = like.target, .source = like.source, .bundle = index};
    node.depth = like.depth;
    node.first_stream = static_cast<int32_t>(graph().streams.size());
    before_.clear();
    for (const uint32_t i : together) {
      node.bytes += cut_.streams[static_cast<size_t>(hops[i].stream)].bytes;
      graph().streams.push_back(hops[i].stream);
      if (hops[i].parent >= 0) before_.push_back(hop_node_[static_cast<size_t>(hops[i].parent)]);
      hop_node_[i] = graph().count();
    }
    node.last_stream = static_cast<int32_t>(graph().streams.size());
    std::sort(before_.begin(), before_.end());
    before_.erase(std::unique(before_.begin(), before_.end()), before_.end());
    add_allocation(like.target);
    if (like.depth == 0) {
      node.origin = like.source;
      read_from(node);
    }
    graph().add(node, before_);
  }

  void add_allocation(int32_t place) {
    const int32_t node = allocated_[static_cast<size_t>(place)];
    if (node >= 0) before_.push_back(node);
  }

  /// Old pieces that were staged are read from the host.
  void read_from(Node& node) {
    const int32_t stage = room_.staged(node.origin, node.bundle);
    if (stage < 0) return;
    node.source = graph().nodes[static_cast<size_t>(stage)].place;
    before_.push_back(stage);
  }

  void finish() {
    const int32_t commit = graph().add({.action = Action::commit}, data_);
    room_.release_rest(commit);
  }

  Graph& graph() { return schedule_.graph; }

  const PlaceSets& sets_;
  const Cut& cut_;
  const Routes& routes_;
  const OrderOptions& options_;
  Schedule schedule_;
  Room room_;
  std::vector<int32_t> allocated_;  // by place: the node of the bundle at hand, or -1
  std::vector<bool> filled_;        // by place: has new pieces in the bundle at hand
  std::vector<bool> done_;          // by bundle
  std::vector<int64_t> sums_;       // by place
  std::vector<int32_t> touched_, before_, hop_node_;
  std::vector<int32_t> data_;  // nodes that the commit waits for
};

}  // namespace

Result<Schedule> order(const Places& places, const PlaceSets& sets, const std::vector<ModelChange>& changes,
                       const Cut& cut, const Routes& routes, const Memory& memory,
                       const OrderOptions& options) {
  return Scheduler(places, sets, changes, cut, routes, memory, options).run();
}

}  // namespace nereus::elastic
