#include "nereus/control/lengths.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace nereus::control {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

plan::Lengths of(double mean, double clip, int64_t limit = 1024) {
  return value_or_throw(lengths_of(
      {.mean = mean, .max = static_cast<double>(limit), .clip_ratio = clip, .limit = limit, .samples = 5120},
      100));
}

TEST(LengthsOf, HaveTheGivenMeanAndClipRatio) {
  // Summaries of steps of a real run, and an uncut one.
  for (const auto& [mean, clip] : std::vector<std::pair<double, double>>{
           {308.0, 0.036}, {220.7, 0.006}, {467.5, 0.204}, {610.9, 0.406}, {669.0, 0.526}, {203.9, 0}}) {
    const plan::Lengths lengths = of(mean, clip);
    EXPECT_THAT(lengths.mean_response(), DoubleNear(mean, 0.02 * mean));
    EXPECT_THAT(clip_ratio(lengths), DoubleNear(clip, 0.006)) << mean;
    EXPECT_TRUE(std::is_sorted(lengths.responses.begin(), lengths.responses.end()));
    EXPECT_EQ(lengths.prompt, 100);
  }
}

TEST(LengthsOf, WithoutACutEndAtTheMaximum) {
  const auto lengths =
      lengths_of({.mean = 203.9, .max = 825, .clip_ratio = 0, .limit = 1024, .samples = 5120}, 100);
  ASSERT_TRUE(lengths);
  EXPECT_EQ(lengths->responses.back(), 825);
  EXPECT_EQ(clip_ratio(*lengths), 0);
}

TEST(LengthsOf, RefusesWhatNoDistributionHas) {
  for (const LengthSummary& bad :
       {LengthSummary{.mean = 0, .max = 10, .limit = 10, .samples = 1},
        LengthSummary{.mean = 20, .max = 10, .limit = 10, .samples = 1},
        LengthSummary{.mean = 5, .max = 20, .limit = 10, .samples = 1},
        LengthSummary{.mean = 5, .max = 10, .clip_ratio = 1, .limit = 10, .samples = 1},
        LengthSummary{.mean = NAN, .max = 10, .limit = 10, .samples = 1},
        LengthSummary{.mean = 5, .max = 10, .limit = 10, .samples = 0}}) {
    const auto lengths = lengths_of(bad, 100);
    ASSERT_FALSE(lengths);
    EXPECT_THAT(lengths.error().message, HasSubstr("expected"));
  }
}

TEST(LengthForecast, OfSteadyLengthsIsTheSame) {
  LengthForecast forecast;
  for (int i = 0; i < 10; ++i) forecast.observe(of(308, 0.036));
  EXPECT_EQ(forecast.ahead(1).responses, of(308, 0.036).responses);
  EXPECT_EQ(forecast.ahead(50).prompt, 100);
}

TEST(LengthForecast, GoesOnWithGrowthUpToTheLimit) {
  LengthForecast forecast;
  for (int i = 0; i < 30; ++i)
    forecast.observe(plan::lognormal_lengths(100, 200 * std::exp(0.03 * i), 0.7, 1024));
  const double last = plan::lognormal_lengths(100, 200 * std::exp(0.03 * 29), 0.7, 1024).mean_response();
  EXPECT_GT(forecast.ahead(1).mean_response(), last);
  EXPECT_GT(forecast.ahead(10).mean_response(), forecast.ahead(1).mean_response());
  EXPECT_GT(clip_ratio(forecast.ahead(10)), clip_ratio(forecast.ahead(1)));
  EXPECT_GT(forecast.ahead(10, 2).mean_response(), forecast.ahead(10).mean_response());
  EXPECT_LE(forecast.ahead(1000, 9).responses.back(), 1024);
}

}  // namespace
}  // namespace nereus::control
