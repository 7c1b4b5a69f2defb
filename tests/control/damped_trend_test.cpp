#include "nereus/control/damped_trend.h"

#include <gmock/gmock.h>

#include "nereus/base/random.h"

namespace nereus::control {
namespace {

using testing::DoubleNear;

TEST(DampedTrend, OfAConstantIsThatConstant) {
  DampedTrend trend;
  for (int i = 0; i < 20; ++i) trend.observe(5);
  EXPECT_DOUBLE_EQ(trend.ahead(1), 5);
  EXPECT_DOUBLE_EQ(trend.ahead(100), 5);
  EXPECT_DOUBLE_EQ(trend.deviation(10), 0);
}

TEST(DampedTrend, GoesOnWithARiseButNotForEver) {
  DampedTrend trend;
  for (int i = 0; i < 60; ++i) trend.observe(0.1 * i);
  EXPECT_GT(trend.ahead(1), 5.9);
  EXPECT_GT(trend.ahead(5), trend.ahead(1));
  EXPECT_LT(trend.ahead(1000), 5.9 + 0.1 * 10);
}

TEST(DampedTrend, AveragesNoiseAndKnowsItsSize) {
  DampedTrend trend;
  RandomStream random(1, 1);
  double most = 0;
  for (int i = 0; i < 400; ++i) {
    trend.observe(random.normal());
    if (i > 100) most = std::max(most, std::abs(trend.ahead(1)));
  }
  EXPECT_LT(most, 1);  // of single values some are beyond 2.5
  EXPECT_THAT(trend.deviation(1), DoubleNear(1, 0.4));
  EXPECT_GT(trend.deviation(20), trend.deviation(1));
}

TEST(DampedTrend, FollowsAJumpWithinSteps) {
  DampedTrend trend;
  RandomStream random(2, 1);
  for (int i = 0; i < 100; ++i) trend.observe(0.01 * random.normal());
  for (int i = 0; i < 10; ++i) trend.observe(1 + 0.01 * random.normal());
  EXPECT_THAT(trend.ahead(1), DoubleNear(1, 0.25));
}

}  // namespace
}  // namespace nereus::control
