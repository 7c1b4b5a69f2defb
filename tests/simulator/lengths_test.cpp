#include "nereus/simulator/lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nereus::simulator {
namespace {

using testing::HasSubstr;

TEST(Lengths, FitHasTheMeanAndTheShareAtTheLimit) {
  for (const auto& [mean, clipped] :
       {std::pair{1232.0, 0.036}, {2452.0, 0.412}, {840.0, 0.003}, {2000.0, 0.2}}) {
    const auto fit = fit_lengths({mean, clipped, 512}, 4096, 1);
    EXPECT_NEAR(fit.mean(), mean, 1) << mean;
    EXPECT_NEAR(fit.clipped(), clipped, 1e-3) << mean;
  }
  // Nothing at the limit: the variation decides, up to the cut.
  const auto plain = fit_lengths({500, 0, 512}, 1e6, 0.5);
  EXPECT_NEAR(plain.mean(), 500, 0.1);
  EXPECT_NEAR(plain.sigma, std::sqrt(std::log(1.25)), 1e-9);
}

TEST(Lengths, SamplesHaveTheMeanOfTheirStep) {
  const LengthCurve curve({{1000, 0.02, 300}, {2500, 0.4, 300}}, 10, 4096, 1);
  for (const auto& [step, mean] : {std::pair{int64_t{0}, 1000.0}, {int64_t{9}, 2500.0}}) {
    const auto lengths = curve.sample(step, 4000, 1, 0.3, 1);
    const double sum = std::accumulate(lengths.responses.begin(), lengths.responses.end(), 0.0);
    EXPECT_NEAR(sum / 4000, mean, 0.05 * mean);
    EXPECT_LE(*std::ranges::max_element(lengths.responses), 4096);
    EXPECT_GE(*std::ranges::min_element(lengths.responses), 1);
    const double prompts = std::accumulate(lengths.prompts.begin(), lengths.prompts.end(), 0.0);
    EXPECT_NEAR(prompts / 4000, 300, 10);
    for (size_t i = 0; i < lengths.prompts.size(); ++i)
      ASSERT_LE(lengths.prompts[i] + lengths.responses[i], 300 + 4096);
  }
  EXPECT_NEAR(curve.lengths(0).mean_response(), 1000, 20);
  EXPECT_TRUE(std::ranges::is_sorted(curve.lengths(9).responses));
}

TEST(Lengths, LongPromptsLeaveRoomInTheContext) {
  const LengthCurve curve({{200, 0, 2000}}, 10, 512, 1);
  const auto lengths = curve.sample(0, 2000, 1, 0.5, 1);
  for (size_t i = 0; i < lengths.prompts.size(); ++i) {
    ASSERT_LE(lengths.prompts[i] + lengths.responses[i], 2512);
    ASSERT_GE(lengths.responses[i], 1);
  }
}

TEST(Lengths, SamplesDependOnSeedAndStepAlone) {
  const LengthCurve curve({{1000, 0.02, 300}}, 10, 4096, 1);
  EXPECT_EQ(curve.sample(3, 50, 4, 0.3, 7).responses, curve.sample(3, 50, 4, 0.3, 7).responses);
  EXPECT_NE(curve.sample(3, 50, 4, 0.3, 7).responses, curve.sample(4, 50, 4, 0.3, 7).responses);
  EXPECT_NE(curve.sample(3, 50, 4, 0.3, 7).responses, curve.sample(3, 50, 4, 0.3, 8).responses);
  const auto grouped = curve.sample(3, 50, 4, 0.3, 7);
  EXPECT_EQ(grouped.prompts.size(), 200U);
  EXPECT_EQ(grouped.prompts[0], grouped.prompts[3]);
}

TEST(Lengths, LogsAndTables) {
  const auto steps = value_or_throw(
      parse_rl_log("step:0 - val:1\nstep:1 - x/response_length/mean:9.0 - response_length/mean:300.000 - "
                   "response_length/clip_ratio:0.036 - prompt_length/mean:101.0\n",
                   "log", 4));
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].mean, 1200);
  EXPECT_EQ(steps[0].clipped, 0.036);
  EXPECT_EQ(steps[0].prompt, 404);
  const auto table =
      value_or_throw(parse_length_csv("step,mean,clipped,prompt\n1,10,0.5,3\n2,20,0,4\n", "csv", 2));
  ASSERT_EQ(table.size(), 2U);
  EXPECT_EQ(table[1].mean, 40);
  EXPECT_EQ(table[1].prompt, 8);
}

TEST(Lengths, Bad) {
  EXPECT_THAT(parse_rl_log("step:1 - loss:3\n", "log", 1).error().message, HasSubstr("log: no line has"));
  EXPECT_THAT(parse_rl_log("step:1 - response_length/mean:-3\n", "log", 1).error().message,
              HasSubstr("log:1"));
  for (const std::string text :
       {"1,2\n", "1,0,0,3\n", "1,2,1.5,3\n", "1,2,0,3,4\n", "1,2,0,3\nx,1,1,1\n", "1,,0,3\n"})
    EXPECT_THAT(parse_length_csv(text, "csv", 1).error().message, HasSubstr("csv:")) << text;
  EXPECT_THAT(parse_length_csv("", "csv", 1).error().message, HasSubstr("holds no lengths"));
  EXPECT_THAT(read_lengths("/no/such/log", 1).error().message, HasSubstr("/no/such/log"));
}

TEST(Lengths, GeneratedGrow) {
  const auto curve = generate_lengths({500, 2000, 0.5, 0.1, 300}, 101);
  EXPECT_NEAR(curve.front().mean, 500, 1);
  EXPECT_NEAR(curve[50].mean, 1250, 1);
  EXPECT_NEAR(curve.back().mean, 2000, 1);
}

}  // namespace
}  // namespace nereus::simulator
