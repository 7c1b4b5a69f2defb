#include "nereus/simulator/samples.h"

#include <gtest/gtest.h>

#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

TEST(Samples, AreDrawnOnceForAllPolicies) {
  const auto scenario = test::small_scenario();
  const auto curve = scenario.curve();
  Samples samples(scenario, curve);
  const auto first = samples.of(3, 7);
  EXPECT_EQ(samples.of(3, 7), first);
  EXPECT_NE(samples.of(4, 7), first);
  EXPECT_NE(samples.of(3, 8), first);
  const auto lengths =
      curve.sample(3, scenario.job.prompts, scenario.job.completions, scenario.world.prompt_variation, 7);
  EXPECT_EQ(first->lengths().prompts, lengths.prompts);
  EXPECT_EQ(first->lengths().responses, lengths.responses);
}

TEST(Samples, TooManyAreDrawnAgain) {
  auto scenario = test::small_scenario();
  scenario.job.prompts = 1'500'000;
  scenario.job.completions = 1;
  const auto curve = scenario.curve();
  Samples samples(scenario, curve);
  const auto first = samples.of(0, 1), second = samples.of(1, 1);
  EXPECT_EQ(samples.of(0, 1), first);
  EXPECT_NE(samples.of(1, 1), second);
  EXPECT_EQ(samples.of(1, 1)->lengths().responses, second->lengths().responses);
}

TEST(Samples, OfAMinibatchTheLongestComesFirst) {
  const StepSamples samples(StepLengths{{0, 0, 0, 0, 5}, {1, 2, 40, 30, 30}});
  EXPECT_EQ(samples.sorted(1), (std::vector<std::vector<size_t>>{{2, 4, 3, 1, 0}}));
  EXPECT_EQ(samples.sorted(2), (std::vector<std::vector<size_t>>{{1, 0}, {2, 4, 3}}));
}

}  // namespace
}  // namespace nereus::simulator
