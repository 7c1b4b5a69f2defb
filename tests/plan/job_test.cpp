#include "nereus/plan/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

std::vector<std::string> names(const std::vector<ModelStage>& stages) {
  std::vector<std::string> result;
  for (const ModelStage what : stages) result.push_back(to_string(what));
  return result;
}

TEST(ModelStages, InTheOrderOfAStep) {
  EXPECT_THAT(names(model_stages(ppo(llama_8b()))),
              testing::ElementsAre("actor generate", "actor infer", "reference infer", "reward infer",
                                   "critic infer", "actor train", "critic train"));
  EXPECT_THAT(names(model_stages(grpo(llama_8b()))),
              testing::ElementsAre("actor generate", "actor infer", "actor train"));
}

TEST(LognormalLengths, HasTheMeanAndVariationAskedFor) {
  const Lengths lengths = lognormal_lengths(100, 500, 0.5, 100000, 4096);
  EXPECT_NEAR(lengths.mean_response(), 500, 5);
  double squares = 0;
  for (const int32_t length : lengths.responses) squares += std::pow(length - lengths.mean_response(), 2);
  EXPECT_NEAR(std::sqrt(squares / 4096) / 500, 0.5, 0.02);
}

TEST(LognormalLengths, IsCutAtTheLimitAndSorted) {
  const Lengths lengths = lognormal_lengths(100, 3000, 1.0, 4096);
  EXPECT_EQ(lengths.responses.size(), 256);
  EXPECT_EQ(lengths.responses.back(), 4096);
  EXPECT_TRUE(std::is_sorted(lengths.responses.begin(), lengths.responses.end()));
}

TEST(Lengths, Quantiles) {
  const Lengths lengths{.prompt = 1, .responses = {10, 20, 30, 40}, .max_response = 40};
  EXPECT_EQ(lengths.at(0), 10);
  EXPECT_EQ(lengths.at(0.5), 30);
  EXPECT_EQ(lengths.at(1), 40);
  EXPECT_EQ(lengths.mean_response(), 25);
}

}  // namespace
}  // namespace nereus::plan
