#pragma once

#include <cstdint>
#include <vector>

#include "nereus/elastic/cut.h"
#include "nereus/elastic/loads.h"

namespace nereus::elastic {

/// A stream on its way from one place to another.
struct Hop {
  int32_t source = 0, target = 0;
  int32_t stream = 0;
  int32_t depth = 0;    ///< hops before this one: above 0 the source has itself just received it
  int32_t parent = -1;  ///< index of the hop that brought it to the source, or -1
};

/// Chooses where each place takes each stream from: what its machine holds before what others hold, and
/// among equals the endpoint that is done first by bytes over bandwidth. A stream enters a machine once; from
/// there it fans out, and whoever has received it may pass it on, so that chains and trees form where many
/// need what few hold. Deterministic, so that every rank derives the same routes. Not thread-safe.
class Router {
 public:
  /// `message_bytes`: what is passed on before the next is received; `in_flight`: as Loads has it.
  Router(const cluster::Cluster& cluster, const Places& places, const PlaceSets& sets,
         double checkpoint_bandwidth, int64_t message_bytes, int32_t in_flight);

  /// Appends the hops of one stream: one to each wanted place, each after the one that feeds it.
  void route(const Stream& stream, int32_t index, std::vector<Hop>& hops);
  const Loads& loads() const { return loads_; }

 private:
  struct Holder {
    int32_t place = -1, depth = 0, hop = -1;
  };

  void hold(int32_t machine, Holder holder);
  void serve(int32_t machine, std::span<const int32_t> wanted, const Stream& stream, int32_t index,
             std::vector<Hop>& hops);
  /// The place of the machine that the copy from outside goes to: the least busy one.
  size_t entry(std::span<const int32_t> wanted) const;
  /// The holder that is done first. REQUIRES: not empty.
  Holder best(const std::vector<Holder>& holders, int32_t target, int64_t bytes) const;

  const Places& places_;
  const PlaceSets& sets_;
  int64_t message_bytes_;
  Loads loads_;
  std::vector<std::vector<Holder>> holders_;  // of the stream at hand, by machine
  std::vector<int32_t> holding_;              // machines that have any
  std::vector<Holder> outward_;               // who serves other machines: sources, and where it entered
};

}  // namespace nereus::elastic
