#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nereus/elastic/places.h"

namespace nereus::elastic {

/// Numbers of sets by pairs of them: open addressing, so that a look takes one line of memory. Not
/// thread-safe.
class PairTable {
 public:
  /// The number at the pair, or -1 where there is none yet, to be filled in before the next call.
  int32_t& at(int32_t a, int32_t b);

 private:
  struct Entry {
    int32_t a = -1, b = -1, set = -1;
  };
  void grow();

  std::vector<Entry> entries_ = std::vector<Entry>(256);  // a power of two of them, at most half in use
  size_t used_ = 0;
};

/// Sets of places, each kept once and named by a number, so that the thousand devices that hold the same
/// boxes are one word in the inner loops. Set 0 is the empty one; numbers are given in the order in which
/// sets come up. Not thread-safe while it grows.
class PlaceSets {
 public:
  PlaceSets();

  /// The number of the set; order and repetitions do not matter.
  int32_t add(std::vector<int32_t> places);
  int32_t unite(int32_t a, int32_t b);
  /// The places of a that are not in b.
  int32_t subtract(int32_t a, int32_t b);
  int32_t intersect(int32_t a, int32_t b);
  /// The sets of `other` from number `first` on, in their order.
  void add_all(const PlaceSets& other, int32_t first);

  /// Ascending.
  std::span<const int32_t> operator[](int32_t set) const;
  int64_t size(int32_t set) const { return static_cast<int64_t>((*this)[set].size()); }
  bool contains(int32_t set, int32_t place) const;
  /// Places that both have.
  int64_t common(int32_t a, int32_t b) const;
  int32_t count() const { return static_cast<int32_t>(begin_.size()) - 1; }

 private:
  /// `sorted` lies in no set of this object.
  int32_t intern(std::span<const int32_t> sorted);
  /// Where the set is in slots_, or the free slot where it belongs.
  size_t slot_of(std::span<const int32_t> sorted) const;
  void grow();

  std::vector<int64_t> begin_;  // into places_, by set; one more than there are sets
  std::vector<int32_t> places_;
  std::vector<int32_t> slots_ = std::vector<int32_t>(256, -1);  // sets by hash, open addressing as above
  std::vector<int32_t> scratch_;
  PairTable united_, subtracted_, intersected_;
};

}  // namespace nereus::elastic
