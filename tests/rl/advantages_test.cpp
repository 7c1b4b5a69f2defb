#include "nereus/rl/advantages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/rl/golden.h"

namespace nereus::rl {
namespace {

using testing::HasSubstr;
using Rewards = std::vector<std::vector<Reward>>;

Rewards rewards_of(const Json& json) {
  Rewards result;
  for (const Json& of_function : json) {
    result.emplace_back();
    for (const Json& value : of_function)
      result.back().push_back(value.is_null() ? Reward() : Reward(value.get<double>()));
  }
  return result;
}

TEST(Advantages, EqualReference) {
  const Json cases = golden().at("advantages");
  ASSERT_EQ(cases.size(), 10U);
  for (const Json& test : cases) {
    SCOPED_TRACE(test.at("name").get<std::string>());
    AdvantageOptions options;
    options.scale = named<ScaleRewards>(kScaleRewards, test.at("scale").get<std::string>());
    options.combine = named<MultiReward>(kMultiRewards, test.at("combine").get<std::string>());
    options.reward_weights = test.at("weights").get<std::vector<double>>();
    const auto sizes = test.at("sizes").get<std::vector<int64_t>>();
    const auto result = advantages(rewards_of(test.at("rewards")), sizes, options);
    ASSERT_TRUE(result) << result.error().message;
    const auto expected = test.at("values").get<std::vector<double>>();
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(result->values[i], expected[i], 1e-5 * (1 + std::abs(expected[i]))) << i;
  }
}

TEST(Advantages, LeaveOneOut) {
  const std::vector<int64_t> sizes{3, 3};
  const auto result =
      advantages(Rewards{{1.0, 0.0, 0.5, 2.0, std::nullopt, 4.0}}, sizes, {.kind = AdvantageKind::rloo});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->values,
              testing::Pointwise(testing::FloatEq(), {0.75F, -0.75F, 0.0F, -2.0F, 0.0F, 2.0F}));
}

TEST(Advantages, RewardToGoIsWhitenedOverTheBatch) {
  const std::vector<int64_t> sizes{2};
  const TokenDetail tokens{.lengths = {2, 1}, .kl = {0.5F, -0.5F, 1.0F}};
  const AdvantageOptions options{.kind = AdvantageKind::reinforce_pp, .kl_coef = 0.1};
  const auto result = advantages(Rewards{{1.0, 0.0}}, sizes, options, tokens);
  ASSERT_TRUE(result) << result.error().message;
  // To go: 1 + 0.05 - 0.05 = 1 and 1.05 in the first, -0.1 in the second; mean 0.65, variance 0.4225 + ...
  const double mean = (1.0 + 1.05 - 0.1) / 3;
  const double variance = (std::pow(1.0 - mean, 2) + std::pow(1.05 - mean, 2) + std::pow(-0.1 - mean, 2)) / 2;
  const double scale = 1 / std::sqrt(variance + 1e-8);
  EXPECT_TRUE(result->values.empty());
  ASSERT_EQ(result->token_values.size(), 3U);
  EXPECT_NEAR(result->token_values[0], (1.0 - mean) * scale, 1e-6);
  EXPECT_NEAR(result->token_values[1], (1.05 - mean) * scale, 1e-6);
  EXPECT_NEAR(result->token_values[2], (-0.1 - mean) * scale, 1e-6);
}

TEST(Advantages, BaselineSubtractsTheGroupMeanFirst) {
  const std::vector<int64_t> sizes{2, 2};
  const TokenDetail tokens{.lengths = {1, 1, 1, 1}};
  const AdvantageOptions options{.kind = AdvantageKind::reinforce_pp_baseline};
  const auto result = advantages(Rewards{{1.0, 0.0, 10.0, 11.0}}, sizes, options, tokens);
  ASSERT_TRUE(result);
  const auto expected = static_cast<float>(0.5 / std::sqrt(1.0 / 3));
  EXPECT_THAT(result->token_values,
              testing::Pointwise(testing::FloatNear(1e-6F), {expected, -expected, -expected, expected}));
}

// One absent reward is left out of mean and deviation, and its completion is not trained [ms-swift 8123].
TEST(Advantages, Fault36_AnAbsentRewardIsLeftOut) {
  const std::vector<int64_t> sizes{4}, without{3};
  const auto result = advantages(Rewards{{1.0, std::nullopt, 0.0, 0.0}}, sizes, {});
  const auto three = advantages(Rewards{{1.0, 0.0, 0.0}}, without, {});
  ASSERT_TRUE(result && three);
  EXPECT_EQ(result->values, (std::vector<float>{three->values[0], 0.0F, three->values[1], three->values[2]}));
  EXPECT_EQ(result->absent, 1);
  EXPECT_FALSE(result->rewards[1]);
  EXPECT_DOUBLE_EQ(result->reward_mean, 1.0 / 3);
  for (AdvantageKind kind : {AdvantageKind::reinforce_pp, AdvantageKind::reinforce_pp_baseline}) {
    const TokenDetail tokens{.lengths = {1, 1, 1, 1}};
    const auto whitened = advantages(Rewards{{1.0, std::nullopt, 0.0, 0.0}}, sizes, {.kind = kind}, tokens);
    ASSERT_TRUE(whitened);
    EXPECT_EQ(whitened->token_values[1], 0.0F);
    EXPECT_GT(whitened->token_values[0], 1.0F);
  }
}

// Every reward function counts, and a wrong number of rewards or weights names the function [trl 2839].
TEST(Advantages, Fault37_AllRewardFunctionsCount) {
  const std::vector<int64_t> sizes{2};
  const auto both = advantages(Rewards{{1.0, 1.0}, {0.0, 1.0}}, sizes, {});
  ASSERT_TRUE(both);
  EXPECT_LT(both->values[0], 0.0F);
  EXPECT_EQ(*both->rewards[1], 2.0);
  const auto short_list = advantages(Rewards{{1.0, 1.0}, {0.0}}, sizes, {});
  ASSERT_FALSE(short_list);
  EXPECT_THAT(short_list.error().message, HasSubstr("reward function 1: 1 rewards for 2 completions"));
  const auto weights = advantages(Rewards{{1.0, 1.0}, {0.0, 1.0}}, sizes, {.reward_weights = {1.0}});
  ASSERT_FALSE(weights);
  EXPECT_THAT(weights.error().message, HasSubstr("reward_weights: 1 weights for 2"));
}

// No spread inside groups, though there is some between them: exactly 0, and counted [trl 3857].
TEST(Advantages, Fault38_GroupsWithoutSpreadAreZeroAndCounted) {
  const std::vector<int64_t> sizes{3, 3, 3};
  const Rewards rewards{{0.1, 0.1, 0.1, 0.7, 0.7, 0.7, 0.0, 1.0, 0.0}};
  for (ScaleRewards scale : {ScaleRewards::group, ScaleRewards::batch, ScaleRewards::none}) {
    const auto result = advantages(rewards, sizes, {.scale = scale});
    ASSERT_TRUE(result);
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(result->values[i], 0.0F);
    EXPECT_GT(result->values[7], 0.0F);
    EXPECT_DOUBLE_EQ(result->frac_reward_zero_std, 2.0 / 3);
  }
  const auto rloo = advantages(rewards, sizes, {.kind = AdvantageKind::rloo});
  const auto decoupled = advantages(rewards, sizes, {.combine = MultiReward::normalize_then_sum});
  ASSERT_TRUE(rloo && decoupled);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(rloo->values[i], 0.0F);
    EXPECT_EQ(decoupled->values[i], 0.0F);
  }
}

TEST(Advantages, RefusesWhatDoesNotFit) {
  const std::vector<int64_t> one{1, 3}, three{3}, four{4};
  const Rewards rewards{{1.0, 0.0, 0.0, 1.0}};
  const auto message = [](const auto& result) { return result ? std::string() : result.error().message; };
  EXPECT_THAT(message(advantages(rewards, one, {})), HasSubstr("group 0 has 1 completion"));
  EXPECT_THAT(message(advantages(rewards, three, {})), HasSubstr("sizes add up to 3, but there are 4"));
  EXPECT_THAT(message(advantages(Rewards{}, four, {})), HasSubstr("no reward function"));
  const Rewards infinite{{1.0, 0.0, std::numeric_limits<double>::infinity(), 1.0}};
  EXPECT_THAT(message(advantages(infinite, four, {})), HasSubstr("completion 2 has reward inf"));
  EXPECT_THAT(message(advantages(rewards, four, {.kind = AdvantageKind::reinforce_pp})),
              HasSubstr("0 lengths for 4 completions"));
  EXPECT_TRUE(advantages(Rewards{{}}, {}, {}));
}

TEST(AdvantageOptions, RefuseByKey) {
  const auto message = [](const AdvantageOptions& options, int64_t size, size_t functions) {
    const Status status = validate(options, size, functions);
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(message({}, 8, 1), "");
  EXPECT_THAT(message({}, 1, 1), HasSubstr("group_size: 1"));
  EXPECT_THAT(message({}, 8, 0), HasSubstr("rewards"));
  EXPECT_THAT(message({.reward_weights = {1, 2}}, 8, 1), HasSubstr("reward_weights"));
  EXPECT_THAT(message({.epsilon = -1}, 8, 1), HasSubstr("epsilon"));
  EXPECT_THAT(message({.kl_coef = 0.1}, 8, 1), HasSubstr("kl_coef"));
  EXPECT_THAT(message({.kind = AdvantageKind::rloo, .combine = MultiReward::normalize_then_sum}, 8, 2),
              HasSubstr("combine"));
  EXPECT_THAT(message({.scale = ScaleRewards::none, .combine = MultiReward::normalize_then_sum}, 8, 2),
              HasSubstr("scale"));
}

}  // namespace
}  // namespace nereus::rl
