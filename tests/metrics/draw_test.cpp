#include "nereus/metrics/draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace nereus::metrics {
namespace {

TEST(Duration, Table) {
  EXPECT_EQ(duration(0), "0.0 s");
  EXPECT_EQ(duration(9.94), "9.9 s");
  EXPECT_EQ(duration(9.96), "10 s");
  EXPECT_EQ(duration(59.4), "59 s");
  EXPECT_EQ(duration(59.6), "1:00");
  EXPECT_EQ(duration(65), "1:05");
  EXPECT_EQ(duration(7207), "2:00:07");
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300})
    EXPECT_EQ(duration(bad), "?");
}

TEST(Bar, Table) {
  EXPECT_EQ(bar(0.5, 4, false), "##..");
  EXPECT_EQ(bar(0.0, 2, true), "░░");
  EXPECT_EQ(bar(1.0, 2, true), "██");
  EXPECT_EQ(bar(0.75, 2, true), "█▌");
  EXPECT_EQ(bar(2.0, 2, false), "##");
  EXPECT_EQ(bar(-1.0, 2, false), "..");
  EXPECT_EQ(bar(std::nan(""), 2, false), "..");
  EXPECT_EQ(bar(0.5, 0, true), "");
}

TEST(Sparkline, Table) {
  const std::vector<double> rising = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(sparkline(rising, 10, true), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline(rising, 2, true), "▁█") << "the halves' means";
  EXPECT_EQ(sparkline(rising, 10, false), "");
  EXPECT_EQ(sparkline(rising, 0, true), "");
  EXPECT_EQ(sparkline(std::vector<double>{3, 3}, 5, true), "▁▁");
  EXPECT_EQ(sparkline(std::vector<double>{1, std::nan(""), 2}, 5, true), "▁█");
  EXPECT_EQ(sparkline({}, 5, true), "");
}

TEST(Number, Table) {
  EXPECT_EQ(number(0), "0.000");
  EXPECT_EQ(number(0.5312), "0.531");
  EXPECT_EQ(number(-0.5312), "-0.531");
  EXPECT_EQ(number(7.256), "7.26");
  EXPECT_EQ(number(24.06), "24.1");
  EXPECT_EQ(number(1234.4), "1234");
  EXPECT_EQ(number(0.00001), "1.00e-05");
  EXPECT_EQ(number(std::nan("")), "-");
}

}  // namespace
}  // namespace nereus::metrics
