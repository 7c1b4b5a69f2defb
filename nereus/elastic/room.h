#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "nereus/elastic/order.h"

namespace nereus::elastic {

/// The memory of every place while a schedule is written: emits allocations together with the releases and
/// the staging that make room for them. Not thread-safe.
class Room {
 public:
  /// Writes nodes and figures into `schedule`.
  Room(const Places& places, const PlaceSets& sets, const std::vector<ModelChange>& changes, const Cut& cut,
       const Memory& memory, bool keep_old, Schedule& schedule);

  /// Whether everything new fits beside everything old.
  bool enough_for_all() const { return enough_; }
  /// Whether the new pieces of the bundle fit once what is due has been released.
  bool fits(int32_t bundle) const;
  /// Emits an allocation, first what makes room for it. Errors: the host has none for what must be staged.
  Result<int32_t> allocate(const Node& node);
  /// The nodes [first, last) read and fill the bundle's pieces.
  void set_nodes(int32_t bundle, int32_t first, int32_t last);
  /// The bundle's old pieces may go once its nodes are done.
  void pend(int32_t bundle);
  /// The node that staged the bundle's old pieces of a place, or -1.
  int32_t staged(int32_t place, int32_t bundle) const;
  /// Appends the nodes that fill pieces of the bundle on the place.
  void add_writers(int32_t bundle, int32_t place, std::vector<int32_t>& nodes) const;
  /// After the commit: lets go what is left of the old and of its copies, and creates what begins empty.
  void release_rest(int32_t commit);

 private:
  /// Old pieces that may go. Bundle -1: they hold nothing.
  struct Pending {
    int32_t bundle = -1;
    int64_t bytes = 0;
  };
  struct OfPlace {
    int64_t used = 0, capacity = 0;
    int64_t due = 0;               // bytes of `pending`
    int32_t fence = -1;            // the last allocation that had to wait; later ones come after it
    std::vector<Pending> pending;  // oldest first
    size_t gone = 0;               // how many of them have gone
    std::vector<int32_t> old;      // bundles that have old pieces here (entries of Cut::release)
    int64_t copies = 0;            // bytes staged here
  };

  OfPlace& at(int32_t place) { return places_of_[static_cast<size_t>(place)]; }
  const OfPlace& at(int32_t place) const { return places_of_[static_cast<size_t>(place)]; }
  void use(int32_t place, int64_t bytes);
  /// Emits the release of the oldest pending pieces, with a copy on the host where that is wanted.
  int32_t release_oldest(int32_t place);
  /// Stages old pieces that have yet to be sent, the smallest that suffice; the release is returned.
  Result<int32_t> stage(int32_t place, int64_t need);
  int32_t smallest_that_frees(int32_t place, int64_t need) const;
  int32_t stage_out(int32_t place, int32_t bundle, std::span<const int32_t> before);
  int64_t held(int32_t place, int32_t bundle) const;
  void add_readers(int32_t bundle, int32_t place, std::vector<int32_t>& nodes) const;

  const Places& places_;
  const PlaceSets& sets_;
  const std::vector<ModelChange>& changes_;
  const Cut& cut_;
  bool keep_old_;
  Schedule& schedule_;
  bool enough_ = true;
  std::vector<OfPlace> places_of_;
  std::vector<std::pair<int32_t, int32_t>> nodes_;  // by bundle
  std::vector<bool> processed_;                     // by bundle
  std::unordered_map<uint64_t, int32_t> staged_;    // by place and bundle
  struct Ends {
    std::vector<std::pair<int32_t, int32_t>> readers, writers;  // place and node, by place
  };
  const Ends& ends(int32_t bundle) const;
  mutable std::unordered_map<int32_t, Ends> ends_;  // of bundles that were asked for
};

}  // namespace nereus::elastic
