#include "nereus/elastic/route.h"

#include <algorithm>

namespace nereus::elastic {

Router::Router(const cluster::Cluster& cluster, const Places& places, const PlaceSets& sets,
               double checkpoint_bandwidth, int64_t message_bytes, int32_t in_flight)
    : places_(places),
      sets_(sets),
      message_bytes_(message_bytes),
      loads_(cluster, places, checkpoint_bandwidth, in_flight),
      holders_(static_cast<size_t>(places.machines())) {}

void Router::hold(int32_t machine, Holder holder) {
  auto& here = holders_[static_cast<size_t>(machine)];
  if (here.empty()) holding_.push_back(machine);
  here.push_back(holder);
}

void Router::route(const Stream& stream, int32_t index, std::vector<Hop>& hops) {
  const auto wanted = sets_[stream.wanted];
  if (wanted.empty()) return;
  for (const int32_t place : sets_[stream.sources]) {
    outward_.push_back({place, 0, -1});
    if (place != places_.checkpoint()) hold(places_.machine(place), outward_.back());
  }
  // Devices come by machine; hosts, which are few, after them.
  for (size_t begin = 0; begin < wanted.size();) {
    const int32_t machine = places_.machine(wanted[begin]);
    size_t end = begin + 1;
    while (end < wanted.size() && places_.machine(wanted[end]) == machine) ++end;
    serve(machine, wanted.subspan(begin, end - begin), stream, index, hops);
    begin = end;
  }
  for (const int32_t machine : holding_) holders_[static_cast<size_t>(machine)].clear();
  holding_.clear();
  outward_.clear();
}

void Router::serve(int32_t machine, std::span<const int32_t> wanted, const Stream& stream, int32_t index,
                   std::vector<Hop>& hops) {
  const auto& here = holders_[static_cast<size_t>(machine)];
  const auto add = [&](const Holder& from, int32_t target) {
    hops.push_back({from.place, target, index, from.depth, from.hop});
    const int64_t messages = (stream.bytes + message_bytes_ - 1) / message_bytes_;
    loads_.add(from.place, target, stream.bytes, messages);
    hold(machine, {target, from.depth + 1, static_cast<int32_t>(hops.size()) - 1});
  };
  size_t entered = wanted.size();
  if (here.empty()) {
    entered = entry(wanted);
    add(best(outward_, wanted[entered], stream.bytes), wanted[entered]);
    outward_.push_back(here.back());
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i != entered) add(best(here, wanted[i], stream.bytes), wanted[i]);
  }
}

size_t Router::entry(std::span<const int32_t> wanted) const {
  size_t best = 0;
  for (size_t i = 1; i < wanted.size(); ++i) {
    if (loads_.entering(wanted[i]) < loads_.entering(wanted[best])) best = i;
  }
  return best;
}

Router::Holder Router::best(const std::vector<Holder>& holders, int32_t target, int64_t bytes) const {
  const int64_t message = std::min(bytes, message_bytes_);
  Holder best;
  double least = 0;
  for (const Holder& holder : holders) {
    const double seconds = loads_.send_done(holder.place, target, bytes, holder.depth * message);
    if (best.place < 0 || seconds < least) best = holder, least = seconds;
  }
  return best;
}

}  // namespace nereus::elastic
