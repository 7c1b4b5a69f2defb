#include "nereus/control/online_line.h"

#include <gmock/gmock.h>

#include <cmath>

#include "nereus/base/random.h"

namespace nereus::control {
namespace {

using testing::DoubleNear;

TEST(OnlineLine, IsTheAnalyticFigureBeforeAnyMeasurement) {
  const OnlineLine line;
  EXPECT_EQ(line.at(7), 7);
  EXPECT_EQ(line.count(), 0);
  EXPECT_GT(line.deviation(7), 0.2);
}

TEST(OnlineLine, FindsConstantAndSlope) {
  OnlineLine line;
  for (int i = 0; i < 100; ++i) {
    const double work = 1 + i % 7;
    EXPECT_TRUE(line.observe(work, 15.3 + 9.5 * work)) << i;
  }
  EXPECT_THAT(line.constant(), DoubleNear(15.3, 0.1));
  EXPECT_THAT(line.slope(), DoubleNear(9.5, 0.05));
  EXPECT_THAT(line.at(20), DoubleNear(15.3 + 190, 1));
  EXPECT_LT(line.deviation(4), 0.01);
}

TEST(OnlineLine, IsSteadyUnderNoise) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    OnlineLine line;
    RandomStream random(seed, 1);
    for (int i = 0; i < 500; ++i) {
      line.observe(1, 100 * (1 + 0.1 * random.normal()));
      if (i > 50) {
        EXPECT_THAT(line.at(1), DoubleNear(100, 10)) << seed << " " << i;
      }
    }
    EXPECT_THAT(line.noise(), DoubleNear(0.1, 0.03));
  }
}

TEST(OnlineLine, FollowsDrift) {
  OnlineLine line;
  double error = 0;
  for (int i = 0; i < 200; ++i) {
    const double measured = 100 * std::exp(0.02 * i);
    if (i > 50) error = std::max(error, std::abs(line.at(1) / measured - 1));
    line.observe(1, measured);
  }
  EXPECT_LT(error, 0.05);
}

TEST(OnlineLine, SetsOneOutlierAside) {
  OnlineLine line;
  RandomStream random(3, 1);
  for (int i = 0; i < 50; ++i) line.observe(1, 100 * (1 + 0.01 * random.normal()));
  const double before = line.at(1);
  EXPECT_FALSE(line.observe(1, 300));
  EXPECT_EQ(line.at(1), before);
  EXPECT_TRUE(line.observe(1, 100));
  EXPECT_THAT(line.at(1), DoubleNear(100, 2));
}

TEST(OnlineLine, BelievesTheSecondOutlierInARow) {
  OnlineLine line;
  RandomStream random(3, 1);
  for (int i = 0; i < 50; ++i) line.observe(1, 100 * (1 + 0.01 * random.normal()));
  EXPECT_FALSE(line.observe(1, 150));
  EXPECT_TRUE(line.observe(1, 150));
  EXPECT_THAT(line.at(1), DoubleNear(150, 3));
}

TEST(OnlineLine, CoefficientsAreNeverNegative) {
  OnlineLine line;
  for (int i = 0; i < 60; ++i) {
    const double work = 1 + i % 5;
    line.observe(work, std::max(0.5, 10 * work - 8));
    EXPECT_GE(line.constant(), 0);
    EXPECT_GE(line.slope(), 0);
    EXPECT_GT(line.at(0.1), 0);
  }
}

}  // namespace
}  // namespace nereus::control
