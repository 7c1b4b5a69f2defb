#include "nereus/cluster/box.h"

#include <gtest/gtest.h>

namespace nereus::cluster {
namespace {

TEST(Box, ElementsAndIntersection) {
  struct Case {
    Box a, b, common;
    int64_t elements;  // of the common part
  };
  const Case cases[] = {
      {{{0}, {10}}, {{4}, {20}}, {{4}, {10}}, 6},
      {{{0, 0}, {4, 6}}, {{2, 3}, {9, 5}}, {{2, 3}, {4, 5}}, 4},
      {{{0, 0}, {4, 6}}, {{1, 1}, {2, 2}}, {{1, 1}, {2, 2}}, 1},  // inside
      {{{0}, {4}}, {{4}, {8}}, {{4}, {4}}, 0},                    // they touch
      {{{0, 0}, {4, 4}}, {{6, 0}, {8, 4}}, {{6, 0}, {6, 4}}, 0},  // apart in one dim
      {{{3}, {3}}, {{0}, {8}}, {{3}, {3}}, 0},                    // one is empty
      {{{}, {}}, {{}, {}}, {{}, {}}, 1},                          // a scalar
  };
  for (const auto& c : cases) {
    const Box common = intersection(c.a, c.b);
    EXPECT_EQ(common, c.common);
    EXPECT_EQ(common.elements(), c.elements);
    EXPECT_EQ(common.empty(), c.elements == 0);
    EXPECT_EQ(intersection(c.b, c.a).elements(), c.elements);
  }
}

}  // namespace
}  // namespace nereus::cluster
