#include "nereus/rl/token_rewards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::rl {
namespace {

using testing::FloatNear;
using testing::Pointwise;

TEST(TokenRewards, KlOnEachTokenAndScoreOnTheLast) {
  const TokenDetail tokens{
      .lengths = {3, 0, 2, 2}, .kl = {1, 2, 3, 4, 5, 6, 7}, .mask = {1, 1, 0, 1, 1, 0, 0}};
  const std::vector<Reward> scores{1.0, 5.0, std::nullopt, 2.0};
  ASSERT_TRUE(check_tokens(tokens, 4));
  EXPECT_THAT(token_rewards(scores, tokens, 0.1),
              Pointwise(FloatNear(1e-6F), {-0.1F, 0.8F, 0.0F, -0.4F, -0.5F, 0.0F, 0.0F}));
}

TEST(TokenRewards, RefusesListsThatDoNotFit) {
  EXPECT_FALSE(check_tokens({.lengths = {3}}, 2));
  EXPECT_FALSE(check_tokens({.lengths = {3, -1}}, 2));
  EXPECT_FALSE(check_tokens({.lengths = {3}, .kl = {1, 2}}, 1));
  EXPECT_FALSE(check_tokens({.lengths = {3}, .mask = {1, 1}}, 1));
}

TEST(Whiten, EqualOrFewValuesBecomeZero) {
  std::vector<float> equal{0.1F, 0.1F, 0.1F, 9.0F};
  whiten(equal, std::vector<float>{1, 1, 1, 0});
  EXPECT_EQ(equal, (std::vector<float>{0, 0, 0, 0}));
  std::vector<float> one{3.0F};
  whiten(one, std::vector<float>{1});
  EXPECT_EQ(one[0], 0.0F);
  std::vector<float> none;
  whiten(none, {});
}

}  // namespace
}  // namespace nereus::rl
