#include "nereus/control/memory_watch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "nereus/base/random.h"
#include "rl_log.h"

namespace nereus::control {
namespace {

using testing::HasSubstr;

constexpr double kGb = 1e9;

MemoryFinding only(const MemoryWatch& watch, double tokens, int64_t steps = 5) {
  const auto found = watch.findings(tokens, steps);
  EXPECT_EQ(found.size(), 1u);
  return found.front();
}

TEST(MemoryWatch, SteadyMemoryIsSteady) {
  MemoryWatch watch;
  RandomStream random(1, 1);
  for (int i = 0; i < 100; ++i)
    watch.observe(500 + 20 * random.normal(), {{0, (60 + 0.1 * random.normal()) * kGb, 80 * kGb}});
  const MemoryFinding found = only(watch, 500);
  EXPECT_EQ(found.cause, MemoryCause::steady) << found.text;
  EXPECT_LT(found.bound, 64 * kGb);
}

// Out of memory after 50 to 60 steps as responses grow: track the peak, change plan before the cap
// [verl 1232, 2159]; say whether lengths grew or memory leaked [verl 2260, 630].
TEST(MemoryWatch, Fault49_GrowthWithLengthsIsNoLeak) {
  MemoryWatch watch;
  RandomStream random(2, 1);
  double tokens = 300;
  for (int i = 0; i < 60; ++i) {
    tokens *= 1.02;
    const double noise = 1 + 0.02 * random.normal();
    watch.observe(tokens * noise, {{3, (50 + 0.02 * tokens * noise) * kGb, 80 * kGb}});
  }
  const MemoryFinding found = only(watch, tokens);
  EXPECT_EQ(found.cause, MemoryCause::growth) << found.text;
  EXPECT_THAT(found.text, HasSubstr("device 3: memory grew"));
  EXPECT_THAT(found.text, HasSubstr("nothing leaks"));
  EXPECT_NEAR(found.growth, 0.02 * (tokens - 306) * kGb, 4 * kGb);
}

TEST(MemoryWatch, Fault49_ALeakIsCalledOne) {
  MemoryWatch watch;
  RandomStream random(3, 1);
  for (int i = 0; i < 60; ++i) {
    const double tokens = 500 * (1 + 0.05 * random.normal());
    watch.observe(tokens, {{0, (50 + 0.2 * i + 0.005 * tokens) * kGb, 80 * kGb}});
  }
  const MemoryFinding found = only(watch, 500);
  EXPECT_EQ(found.cause, MemoryCause::leak) << found.text;
  EXPECT_NEAR(found.leak, 0.2 * kGb, 0.05 * kGb);
  EXPECT_THAT(found.text, HasSubstr("leaks 0."));
  EXPECT_THAT(found.text, HasSubstr("whatever the lengths"));
}

TEST(MemoryWatch, Fault49_ALeakShowsThroughGrowth) {
  MemoryWatch watch;
  RandomStream random(4, 1);
  for (int i = 0; i < 90; ++i) {
    const double tokens = std::min(1000.0, 300 * std::exp(0.05 * i)) * (1 + 0.02 * random.normal());
    watch.observe(tokens, {{0, (40 + 0.1 * i + 0.01 * tokens) * kGb, 80 * kGb}});
  }
  EXPECT_EQ(only(watch, 1000).cause, MemoryCause::leak);
}

TEST(MemoryWatch, Fault49_TheBoundPassesTheCapBeforeThePeakDoes) {
  MemoryWatch watch;
  double tokens = 300, peak = 0;
  int warned = -1, full = -1;
  for (int i = 0; i < 200 && full < 0; ++i) {
    tokens *= 1.02;
    peak = (50 + 0.02 * tokens) * kGb;
    watch.observe(tokens, {{0, peak, 80 * kGb}});
    if (warned < 0 && only(watch, tokens * std::pow(1.02, 5)).bound > 80 * kGb) warned = i;
    if (peak > 80 * kGb) full = i;
  }
  ASSERT_GE(warned, 0);
  EXPECT_LE(warned, full - 5);
  EXPECT_GE(warned, full - 20);
}

TEST(MemoryWatch, NamesTheFullestDevice) {
  MemoryWatch watch;
  EXPECT_FALSE(watch.fullest(100, 1).has_value());
  watch.observe(100, {{0, 60 * kGb, 80 * kGb}, {1, 20 * kGb, 24 * kGb}, {2, 70 * kGb, 141 * kGb}});
  EXPECT_EQ(watch.fullest(100, 1)->device, 1);
  watch.restart();
  EXPECT_FALSE(watch.fullest(100, 1).has_value());
}

// Peaks of a real run, whose responses tripled: the bound made before each step.
TEST(MemoryWatch, RealRunIsNeverBoundBelowWhatWasObserved) {
  const auto steps =
      test::read_rl_log(NEREUS_SOURCE_DIR "/../shared/data/traces/rl-logs/verldata-qwen2-7b-math.log");
  if (steps.empty()) GTEST_SKIP() << "shared data are missing";
  for (const char* key : {"perf/max_memory_allocated_gb", "perf/max_memory_reserved_gb"}) {
    MemoryWatch watch;
    double lowest = 1, over = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto& step = steps[i];
      const double tokens = step.at("prompt_length/mean") + step.at("response_length/mean"),
                   peak = step.at(key) * kGb;
      if (i > 0) {
        const double before = steps[i - 1].at("prompt_length/mean") + steps[i - 1].at("response_length/mean");
        const double bound = only(watch, before, 1).bound;
        lowest = std::min(lowest, bound / peak);
        over += (bound / peak - 1) / static_cast<double>(steps.size() - 1);
      }
      watch.observe(tokens, {{0, peak, 141 * kGb}});
    }
    RecordProperty(std::string(key) + ":lowest", std::to_string(lowest));
    std::printf("%s: bound / observed: least %.4f, mean %.4f\n", key, lowest, 1 + over);
    EXPECT_GE(lowest, 0.98) << key;
    EXPECT_LE(over, 0.05) << key;
    EXPECT_EQ(only(watch, 700).cause, MemoryCause::growth) << only(watch, 700).text;
  }
}

}  // namespace
}  // namespace nereus::control
