#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
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
/// boxes are one word in the inner loops. Set 0 is the empty one. Not thread-safe while it grows.
class PlaceSets {
 public:
  PlaceSets();

  /// The number of the set; order and repetitions do not matter.
  int32_t add(std::vector<int32_t> places);
  int32_t unite(int32_t a, int32_t b);
  /// The places of a that are not in b.
  int32_t subtract(int32_t a, int32_t b);
  int32_t intersect(int32_t a, int32_t b);

  /// Ascending.
  std::span<const int32_t> operator[](int32_t set) const;
  int64_t size(int32_t set) const { return static_cast<int64_t>((*this)[set].size()); }
  bool contains(int32_t set, int32_t place) const;
  /// Places that both have.
  int64_t common(int32_t a, int32_t b) const;
  int32_t count() const { return static_cast<int32_t>(begin_.size()) - 1; }

 private:
  int32_t intern(std::vector<int32_t> sorted);

  std::vector<int64_t> begin_;  // into places_, by set; one more than there are sets
  std::vector<int32_t> places_;
  std::unordered_multimap<uint64_t, int32_t> by_hash_;
  PairTable united_, subtracted_, intersected_;
};

}  // namespace nereus::elastic
