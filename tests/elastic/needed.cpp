#include "tests/elastic/needed.h"

#include <algorithm>
#include <iterator>

namespace nereus::elastic::test {
namespace {

/// The elements of the moved kinds, each as (place or machine, role, kind, tensor, row, column) in one word.
std::vector<uint64_t> elements_of(const World::Store& store, const Places& places, bool machines) {
  std::vector<uint64_t> all;
  for (const auto& [key, bytes] : store) {
    if (key.kind == Kind::gradient) continue;
    const int32_t place = machines ? places.machine(key.place) : key.place;
    const uint64_t piece = static_cast<uint64_t>(place) << 48U | static_cast<uint64_t>(key.role) << 44U |
                           static_cast<uint64_t>(key.kind) << 40U | static_cast<uint64_t>(key.tensor) << 24U;
    for (int64_t row = key.box.row_begin; row < key.box.row_end; ++row) {
      for (int64_t col = key.box.col_begin; col < key.box.col_end; ++col)
        all.push_back(piece | static_cast<uint64_t>(row) << 12U | static_cast<uint64_t>(col));
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

Needed needed_bytes(const cluster::Cluster& cluster, const plan::Job& job, const plan::Plan& from,
                    const plan::Plan& to) {
  const Places places(cluster);
  const auto held = World::store_of(cluster, job, from), needed = World::store_of(cluster, job, to);
  const auto missing = [&](bool machines) {
    std::vector<uint64_t> rest;
    std::ranges::set_difference(elements_of(needed, places, machines), elements_of(held, places, machines),
                                std::back_inserter(rest));
    int64_t bytes = 0;
    for (const uint64_t element : rest) bytes += element_bytes(job, static_cast<Kind>(element >> 40U & 15U));
    return bytes;
  };
  return {.moved = missing(false), .network = missing(true)};
}

}  // namespace nereus::elastic::test
