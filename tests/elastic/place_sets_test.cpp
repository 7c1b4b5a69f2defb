#include "nereus/elastic/place_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::elastic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PlaceSets, KeepsEachSetOnce) {
  PlaceSets sets;
  const int32_t a = sets.add({3, 1, 2, 1});
  EXPECT_THAT(sets[a], ElementsAre(1, 2, 3));
  EXPECT_EQ(sets.add({1, 2, 3}), a);
  EXPECT_EQ(sets.add({}), 0);
  EXPECT_THAT(sets[0], IsEmpty());
  EXPECT_EQ(sets.size(a), 3);
  EXPECT_TRUE(sets.contains(a, 2));
  EXPECT_FALSE(sets.contains(a, 4));
}

TEST(PlaceSets, Algebra) {
  PlaceSets sets;
  const int32_t a = sets.add({1, 2, 3}), b = sets.add({3, 4}), c = sets.add({7});
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second time from memory
    EXPECT_THAT(sets[sets.unite(a, b)], ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(sets[sets.subtract(a, b)], ElementsAre(1, 2));
    EXPECT_THAT(sets[sets.subtract(b, a)], ElementsAre(4));
    EXPECT_THAT(sets[sets.intersect(a, b)], ElementsAre(3));
    EXPECT_EQ(sets.intersect(a, c), 0);
    EXPECT_EQ(sets.subtract(a, c), a);
    EXPECT_EQ(sets.unite(a, 0), a);
    EXPECT_EQ(sets.unite(0, a), a);
    EXPECT_EQ(sets.subtract(a, a), 0);
    EXPECT_EQ(sets.intersect(a, 0), 0);
    EXPECT_EQ(sets.common(a, b), 1);
    EXPECT_EQ(sets.common(a, c), 0);
  }
}

TEST(PlaceSets, KeepsEverySetWhileItGrows) {
  PlaceSets sets, others;
  for (int32_t i = 0; i < 1000; ++i) EXPECT_EQ(sets.add({i, i + 1, 2 * i + 5}), i + 1);
  for (int32_t i = 0; i < 1000; ++i) EXPECT_EQ(sets.add({2 * i + 5, i + 1, i}), i + 1);
  others.add({7});
  others.add_all(sets, 999);
  EXPECT_EQ(others.count(), 4);
  EXPECT_EQ(others.add({998, 999, 2001}), 2) << "in their order";
  EXPECT_EQ(others.add({999, 1000, 2003}), 3);
}

TEST(PairTable, KeepsEveryPairWhileItGrows) {
  PairTable table;
  const auto value = [](int32_t a, int32_t b) { return 1000 * a + b; };
  for (int32_t a = 0; a < 100; ++a) {
    for (int32_t b = 0; b < 100; ++b) {
      int32_t& set = table.at(a, b);
      EXPECT_EQ(set, -1);
      set = value(a, b);
    }
  }
  for (int32_t a = 0; a < 100; ++a) {
    for (int32_t b = 0; b < 100; ++b) EXPECT_EQ(table.at(a, b), value(a, b));
  }
}

}  // namespace
}  // namespace nereus::elastic
