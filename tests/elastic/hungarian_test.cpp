#include "nereus/elastic/hungarian.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

double sum_of(const std::vector<double>& values, const std::vector<int32_t>& columns) {
  double sum = 0;
  for (size_t row = 0; row < columns.size(); ++row)
    sum += values[row * columns.size() + static_cast<size_t>(columns[row])];
  return sum;
}

TEST(Hungarian, EqualsTheBestPermutation) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    test::Dice dice(seed);
    const int32_t n = dice.from(1, 6);
    std::vector<double> values(static_cast<size_t>(n * n));
    for (double& value : values) value = dice.below(dice.one_in(2) ? 3 : 1000);
    std::vector<int32_t> permutation(static_cast<size_t>(n));
    std::iota(permutation.begin(), permutation.end(), 0);
    double best = 0;
    do {
      best = std::max(best, sum_of(values, permutation));
    } while (std::next_permutation(permutation.begin(), permutation.end()));
    auto columns = best_assignment(values, n);
    EXPECT_EQ(sum_of(values, columns), best);
    std::sort(columns.begin(), columns.end());
    EXPECT_EQ(columns, permutation) << "each column once";  // it ended sorted
  }
}

TEST(Hungarian, Empty) {
  EXPECT_TRUE(best_assignment({}, 0).empty());
}

}  // namespace
}  // namespace nereus::elastic
