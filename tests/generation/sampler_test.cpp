#include "nereus/generation/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace nereus::generation {
namespace {

const std::vector<float> kFour{0.1F, 0.4F, 0.2F, 0.3F};

rollout::SamplingOptions options(float temperature, int32_t top_k, float top_p, float min_p) {
  rollout::SamplingOptions o;
  o.temperature = temperature;
  o.top_k = top_k;
  o.top_p = top_p;
  o.min_p = min_p;
  return o;
}

struct Case {
  const char* what;
  rollout::SamplingOptions options;
  std::map<int32_t, double> distribution;  ///< token to probability; what is missing never comes
};

TEST(Sample, DrawsFromTheFilteredDistribution) {
  const Case cases[] = {
      {"all", options(1, 0, 1, 0), {{0, .1}, {1, .4}, {2, .2}, {3, .3}}},
      {"greedy", options(0, 0, 1, 0), {{1, 1}}},
      {"top-k 1", options(1, 1, 1, 0), {{1, 1}}},
      {"top-k 2", options(1, 2, 1, 0), {{1, 4 / 7.}, {3, 3 / 7.}}},
      {"top-k beyond the vocabulary", options(1, 9, 1, 0), {{0, .1}, {1, .4}, {2, .2}, {3, .3}}},
      {"top-p keeps the token that crosses it", options(1, 0, 0.5F, 0), {{1, 4 / 7.}, {3, 3 / 7.}}},
      {"top-p tiny keeps one", options(1, 0, 1e-6F, 0), {{1, 1}}},
      {"min-p", options(1, 0, 1, 0.6F), {{1, 4 / 7.}, {3, 3 / 7.}}},
      {"top-p acts on what top-k left", options(1, 2, 0.55F, 0), {{1, 1}}},
  };
  for (const Case& c : cases) {
    std::map<int32_t, double> seen;
    const int n = 7000;
    for (int i = 0; i < n; ++i) {
      const Sampled s = sample(kFour, c.options, (i + 0.5) / n);
      seen[s.token] += 1.0 / n;
      ASSERT_TRUE(c.distribution.contains(s.token)) << c.what << " token " << s.token;
      const double expected =
          c.options.temperature == 0 ? std::log(0.4) : std::log(c.distribution.at(s.token));
      EXPECT_NEAR(s.logprob, expected, 1e-5) << c.what;
    }
    EXPECT_EQ(seen.size(), c.distribution.size()) << c.what;
    for (const auto& [token, probability] : c.distribution)
      EXPECT_NEAR(seen[token], probability, 1e-3) << c.what;
  }
}

TEST(Sample, NeverDrawsATokenWithoutMass) {
  std::vector<float> p(5000, 0.0F);
  p[1234] = 0.5F;
  p[4000] = 0.5F;
  EXPECT_EQ(sample(p, options(1, 0, 1, 0), 0.0).token, 1234);
  EXPECT_EQ(sample(p, options(1, 0, 1, 0), 0.49999).token, 1234);
  EXPECT_EQ(sample(p, options(1, 0, 1, 0), 0.5).token, 4000);
  EXPECT_EQ(sample(p, options(1, 0, 1, 0), 1.0 - 0x1p-53).token, 4000);
}

TEST(Sample, LargeVocabularyFollowsItsDistribution) {
  std::vector<float> p(50000);
  double total = 0;
  for (size_t i = 0; i < p.size(); ++i) total += p[i] = static_cast<float>(1.0 / static_cast<double>(i + 10));
  for (float& x : p) x = static_cast<float>(x / total);
  for (const auto& o : {options(1, 0, 1, 0), options(1, 49999, 1, 0), options(1, 0, 0.99999F, 0)}) {
    double below = 0;
    for (int i = 0; i < 200; ++i) below += sample(p, o, (i + 0.5) / 200).token < 100 ? 1.0 / 200 : 0;
    double expected = 0;
    for (size_t i = 0; i < 100; ++i) expected += static_cast<double>(p[i]);
    EXPECT_NEAR(below, expected, 0.01);
  }
}

}  // namespace
}  // namespace nereus::generation
