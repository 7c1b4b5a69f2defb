#include "nereus/tasks/permutation.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace nereus::tasks {
namespace {

TEST(Permutation, HitsEveryPlaceOnce) {
  for (const uint64_t size : {1, 2, 3, 4, 5, 16, 17, 100, 2500}) {
    std::vector<bool> seen(size, false);
    const Permutation order(size, 7, 1);
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t place = order(i);
      ASSERT_LT(place, size);
      ASSERT_FALSE(seen[place]) << "size " << size;
      seen[place] = true;
    }
  }
}

TEST(Permutation, SeedAndStreamMatter) {
  std::set<std::vector<uint64_t>> orders;
  for (const auto& [seed, stream] : {std::pair{1, 1}, {1, 2}, {2, 1}, {2, 2}}) {
    std::vector<uint64_t> order;
    for (uint64_t i = 0; i < 50; ++i)
      order.push_back(Permutation(50, static_cast<uint64_t>(seed), static_cast<uint64_t>(stream))(i));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 4U);
}

/// Over many seeds every value comes first about equally often (chi-squared, 4 degrees of freedom: 18.5 at
/// 0.1 %).
TEST(Permutation, IsUniform) {
  constexpr uint64_t kSize = 5, kSeeds = 5000;
  for (uint64_t place = 0; place < kSize; ++place) {
    std::array<double, kSize> counts{};
    for (uint64_t seed = 0; seed < kSeeds; ++seed) ++counts.at(Permutation(kSize, seed, 0)(place));
    double chi_squared = 0;
    for (const double count : counts) chi_squared += (count - 1000) * (count - 1000) / 1000;
    EXPECT_LT(chi_squared, 18.5) << "place " << place;
  }
}

TEST(Permutation, WorksOnHugeSizes) {
  const uint64_t size = (uint64_t{1} << 62) - 12345;
  const Permutation order(size, 3, 4);
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_LT(order(size - 1 - i), size);
    seen.insert(order(i));
  }
  EXPECT_EQ(seen.size(), 1000U);
}

}  // namespace
}  // namespace nereus::tasks
