#include "nereus/elastic/place_sets.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace nereus::elastic {
namespace {

uint64_t hash_of(const std::vector<int32_t>& places) {
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a, a place at a time
  for (const int32_t place : places) hash = (hash ^ static_cast<uint64_t>(place)) * 0x100000001B3;
  return hash;
}

/// Where the search for a pair begins (Fibonacci hashing; Knuth, The Art of Computer Programming 3, 6.4).
size_t place_of(int32_t a, int32_t b, size_t size) {
  const uint64_t pair = static_cast<uint64_t>(a) << 32U | static_cast<uint32_t>(b);
  return static_cast<size_t>(pair * 0x9E3779B97F4A7C15 >> 32U) & (size - 1);
}

}  // namespace

int32_t& PairTable::at(int32_t a, int32_t b) {
  if (2 * used_ >= entries_.size()) grow();
  size_t i = place_of(a, b, entries_.size());
  while (entries_[i].a >= 0 && (entries_[i].a != a || entries_[i].b != b))
    i = (i + 1) & (entries_.size() - 1);
  if (entries_[i].a < 0) {
    entries_[i] = {a, b, -1};
    ++used_;
  }
  return entries_[i].set;
}

void PairTable::grow() {
  const std::vector<Entry> before = std::exchange(entries_, std::vector<Entry>(2 * entries_.size()));
  used_ = 0;
  for (const Entry& entry : before) {
    if (entry.a >= 0) at(entry.a, entry.b) = entry.set;
  }
}

PlaceSets::PlaceSets() : begin_{0} {
  intern({});
}

std::span<const int32_t> PlaceSets::operator[](int32_t set) const {
  const auto index = static_cast<size_t>(set);
  return {places_.data() + begin_[index], static_cast<size_t>(begin_[index + 1] - begin_[index])};
}

bool PlaceSets::contains(int32_t set, int32_t place) const {
  const auto places = (*this)[set];
  return std::binary_search(places.begin(), places.end(), place);
}

int64_t PlaceSets::common(int32_t a, int32_t b) const {
  const auto x = (*this)[a], y = (*this)[b];
  int64_t found = 0;
  for (size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i] == y[j]) ++found;
    const bool first = x[i] <= y[j], second = y[j] <= x[i];
    if (first) ++i;
    if (second) ++j;
  }
  return found;
}

int32_t PlaceSets::intern(std::vector<int32_t> sorted) {
  const uint64_t hash = hash_of(sorted);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (std::ranges::equal((*this)[it->second], sorted)) return it->second;
  }
  const int32_t set = count();
  places_.insert(places_.end(), sorted.begin(), sorted.end());
  begin_.push_back(static_cast<int64_t>(places_.size()));
  by_hash_.emplace(hash, set);
  return set;
}

int32_t PlaceSets::add(std::vector<int32_t> places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return intern(std::move(places));
}

int32_t PlaceSets::unite(int32_t a, int32_t b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  int32_t& known = united_.at(std::min(a, b), std::max(a, b));
  if (known >= 0) return known;
  std::vector<int32_t> both;
  std::ranges::set_union((*this)[a], (*this)[b], std::back_inserter(both));
  return known = intern(std::move(both));
}

int32_t PlaceSets::subtract(int32_t a, int32_t b) {
  if (a == b) return 0;
  if (a == 0 || b == 0) return a;
  int32_t& known = subtracted_.at(a, b);
  if (known >= 0) return known;
  std::vector<int32_t> rest;
  std::ranges::set_difference((*this)[a], (*this)[b], std::back_inserter(rest));
  return known = intern(std::move(rest));
}

int32_t PlaceSets::intersect(int32_t a, int32_t b) {
  if (a == b) return a;
  if (a == 0 || b == 0) return 0;
  int32_t& known = intersected_.at(std::min(a, b), std::max(a, b));
  if (known >= 0) return known;
  std::vector<int32_t> both;
  std::ranges::set_intersection((*this)[a], (*this)[b], std::back_inserter(both));
  return known = intern(std::move(both));
}

}  // namespace nereus::elastic
