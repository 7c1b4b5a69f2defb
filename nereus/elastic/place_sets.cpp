#include "nereus/elastic/place_sets.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace nereus::elastic {
namespace {

uint64_t hash_of(std::span<const int32_t> places) {
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

size_t PlaceSets::slot_of(std::span<const int32_t> sorted) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = (hash_of(sorted) * 0x9E3779B97F4A7C15 >> 32U) & mask;
  while (slots_[slot] >= 0 && !std::ranges::equal((*this)[slots_[slot]], sorted)) slot = (slot + 1) & mask;
  return slot;
}

void PlaceSets::grow() {
  slots_.assign(2 * slots_.size(), -1);
  for (int32_t set = 0; set < count(); ++set) slots_[slot_of((*this)[set])] = set;
}

int32_t PlaceSets::intern(std::span<const int32_t> sorted) {
  if (2 * begin_.size() > slots_.size()) grow();
  int32_t& set = slots_[slot_of(sorted)];
  if (set >= 0) return set;
  set = count();
  places_.insert(places_.end(), sorted.begin(), sorted.end());
  begin_.push_back(static_cast<int64_t>(places_.size()));
  return set;
}

void PlaceSets::add_all(const PlaceSets& other, int32_t first) {
  for (int32_t set = first; set < other.count(); ++set) intern(other[set]);
}

int32_t PlaceSets::add(std::vector<int32_t> places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return intern(places);
}

int32_t PlaceSets::unite(int32_t a, int32_t b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  int32_t& known = united_.at(std::min(a, b), std::max(a, b));
  if (known >= 0) return known;
  scratch_.clear();
  std::ranges::set_union((*this)[a], (*this)[b], std::back_inserter(scratch_));
  return known = intern(scratch_);
}

int32_t PlaceSets::subtract(int32_t a, int32_t b) {
  if (a == b) return 0;
  if (a == 0 || b == 0) return a;
  int32_t& known = subtracted_.at(a, b);
  if (known >= 0) return known;
  scratch_.clear();
  std::ranges::set_difference((*this)[a], (*this)[b], std::back_inserter(scratch_));
  return known = intern(scratch_);
}

int32_t PlaceSets::intersect(int32_t a, int32_t b) {
  if (a == b) return a;
  if (a == 0 || b == 0) return 0;
  int32_t& known = intersected_.at(std::min(a, b), std::max(a, b));
  if (known >= 0) return known;
  scratch_.clear();
  std::ranges::set_intersection((*this)[a], (*this)[b], std::back_inserter(scratch_));
  return known = intern(scratch_);
}

}  // namespace nereus::elastic
