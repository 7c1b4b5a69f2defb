#include "nereus/metrics/summary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nereus::metrics {
namespace {

TEST(Summary, MeanDeviationExtremes) {
  Summary summary;
  for (const double value : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) summary.add(value);
  EXPECT_DOUBLE_EQ(summary.mean(), 5.0);
  EXPECT_DOUBLE_EQ(summary.sum(), 40.0);
  EXPECT_NEAR(summary.deviation(), std::sqrt(32.0 / 7.0), 1e-12);
  EXPECT_EQ(summary.min(), 2.0);
  EXPECT_EQ(summary.max(), 9.0);
}

TEST(Summary, WeightsMakeMeansOfPartsTheMeanOfAll) {
  Summary by_token;
  by_token.add(1.0, 1);    // a micro-batch of one token
  by_token.add(3.0, 999);  // and one of 999
  EXPECT_DOUBLE_EQ(by_token.mean(), (1.0 + 3.0 * 999) / 1000);
  by_token.add(1e9, 0);
  EXPECT_EQ(by_token.max(), 3.0) << "no observation, no influence";
}

TEST(Summary, MergedPartsEqualTheWhole) {
  Summary whole, left, right;
  for (int i = 0; i < 100; ++i) {
    const double value = 1e6 + std::sin(i);  // a large mean, so that naive sums of squares would cancel
    whole.add(value);
    (i < 37 ? left : right).add(value);
  }
  left.merge(right);
  left.merge(Summary());
  EXPECT_NEAR(left.mean(), whole.mean(), 1e-9);
  EXPECT_NEAR(left.deviation(), whole.deviation(), 1e-9);
  EXPECT_NEAR(left.deviation(), 0.7107, 1e-3);
  EXPECT_EQ(left.min(), whole.min());
  EXPECT_EQ(left.max(), whole.max());
}

TEST(Summary, NothingAddedIsNoNumber) {
  EXPECT_TRUE(std::isnan(Summary().mean()));
  EXPECT_TRUE(std::isnan(Summary().min()));
  EXPECT_TRUE(std::isnan(Summary().max()));
  EXPECT_TRUE(std::isnan(Summary().deviation()));
  Summary one;
  one.add(3);
  EXPECT_EQ(one.deviation(), 0.0);
}

TEST(Ratio, IsASumOverASum) {
  Ratio rate;
  rate.add(1, 10);
  rate.add(9, 10);
  rate.merge({10, 20});
  EXPECT_DOUBLE_EQ(rate.value(), 0.5);
  EXPECT_TRUE(std::isnan(Ratio().value()));
}

}  // namespace
}  // namespace nereus::metrics
