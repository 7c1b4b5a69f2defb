#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "tests/elastic/world.h"

namespace nereus::elastic::test {

// The bytes of the world's pieces, and where they are.

inline uint32_t hash(plan::Role role, int32_t what, int32_t tensor, int64_t row, int64_t col) {
  uint64_t x = static_cast<uint64_t>(role) * 7 + static_cast<uint64_t>(what);
  for (const int64_t part : {static_cast<int64_t>(tensor), row, col}) {
    x = (x ^ static_cast<uint64_t>(part + 1)) * 0x9E3779B97F4A7C15;
    x ^= x >> 29U;
  }
  return static_cast<uint32_t>(x >> 16U);
}

/// Weights, adapters and masters are views of one value.
inline int32_t value_of(Kind kind) {
  return kind == Kind::first_moment ? 1 : kind == Kind::second_moment ? 2 : 0;
}

inline World::Bytes true_bytes(const plan::Job& job, const World::Key& key) {
  const int64_t size = element_bytes(job, key.kind);
  World::Bytes bytes;
  if (key.kind == Kind::gradient) return World::Bytes(static_cast<size_t>(key.box.elements() * size), 0);
  for (int64_t row = key.box.row_begin; row < key.box.row_end; ++row) {
    for (int64_t col = key.box.col_begin; col < key.box.col_end; ++col) {
      const uint32_t value = hash(key.role, value_of(key.kind), key.tensor, row, col);
      for (int64_t i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
    }
  }
  return bytes;
}

inline int64_t element_at(const Rect& box, int64_t row, int64_t col) {
  return (row - box.row_begin) * box.cols() + col - box.col_begin;
}

/// Calls f(index in a, index in b) for every element of `box`. REQUIRES: both contain it.
template <class F>
void for_each(const Rect& box, const Rect& a, const Rect& b, F f) {
  for (int64_t row = box.row_begin; row < box.row_end; ++row) {
    for (int64_t col = box.col_begin; col < box.col_end; ++col)
      f(element_at(a, row, col), element_at(b, row, col));
  }
}

inline void put(const World::Bytes& from, int64_t from_element, World::Bytes& to, int64_t to_element,
                int64_t size) {
  std::copy_n(from.begin() + from_element * size, size, to.begin() + to_element * size);
}

/// The first entry whose box contains that of `wanted`, on its place and of its kind and tensor.
template <class Map>
auto containing(Map& map, const World::Key& wanted) {
  World::Key first = wanted;
  first.box = {std::numeric_limits<int64_t>::min(), 0, 0, 0};
  auto it = map.lower_bound(first);
  for (; it != map.end(); ++it) {
    const World::Key& key = it->first;
    if (std::tie(key.place, key.role, key.kind, key.tensor) !=
        std::tie(wanted.place, wanted.role, wanted.kind, wanted.tensor))
      return map.end();
    if (key.box.contains(wanted.box)) return it;
  }
  return it;
}

/// Iterators over the entries of one place, role and kind with tensors in [first, last).
template <class Map>
auto range(Map& map, int32_t place, plan::Role role, Kind kind, int32_t first, int32_t last) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  return std::pair(map.lower_bound(World::Key{place, role, kind, first, {least, 0, 0, 0}}),
                   map.lower_bound(World::Key{place, role, kind, last, {least, 0, 0, 0}}));
}

inline std::string where(const World::Key& key) {
  return fmt::format("place {}, role {}, {}, tensor {}, box [{}, {}) x [{}, {})", key.place,
                     static_cast<int>(key.role), name_of(key.kind), key.tensor, key.box.row_begin,
                     key.box.row_end, key.box.col_begin, key.box.col_end);
}

}  // namespace nereus::elastic::test
