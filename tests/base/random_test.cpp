#include "nereus/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace nereus {
namespace {

// Known answers of Random123's kat_vectors for philox4x32-10.
TEST(Philox, MatchesPublishedVectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Uniform, EveryPartOfTheKeyMatters) {
  const RandomKey base{.seed = 1, .prompt = 2, .completion = 3, .position = 4};
  std::set<double> values{uniform(base)};
  for (int part = 0; part < 4; ++part) {
    RandomKey other = base;
    if (part == 0) ++other.seed;
    if (part == 1) ++other.prompt;
    if (part == 2) ++other.completion;
    if (part == 3) ++other.position;
    values.insert(uniform(other));
  }
  EXPECT_EQ(values.size(), 5U);
}

TEST(RandomStream, BeginsAnywhere) {
  RandomStream whole(7, 1);
  for (int i = 0; i < 5; ++i) whole.next();
  whole.normal();  // takes two
  RandomStream rest(7, 1, 7);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(whole.next(), rest.next());
}

TEST(RandomStream, MomentsOfUniformAndNormal) {
  RandomStream stream(7, 1);
  double sum = 0, square = 0, uniform_sum = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double z = stream.normal();
    sum += z;
    square += z * z;
    uniform_sum += stream.uniform();
  }
  EXPECT_NEAR(sum / n, 0.0, 0.01);
  EXPECT_NEAR(square / n, 1.0, 0.02);
  EXPECT_NEAR(uniform_sum / n, 0.5, 0.005);
}

TEST(RandomStream, BelowReachesEveryValueAndNoOther) {
  RandomStream stream(7, 2);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(stream.below(10));
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_EQ(*seen.rbegin(), 9U);
}

}  // namespace
}  // namespace nereus
