#include "nereus/rl/dapo.h"

#include <gtest/gtest.h>

namespace nereus::rl {
namespace {

TEST(Dapo, KeepsGroupsWhoseRewardsDiffer) {
  EXPECT_TRUE(keep_group(std::vector<Reward>{1.0, 0.0, 1.0}));
  EXPECT_TRUE(keep_group(std::vector<Reward>{1.0, std::nullopt, 0.0}));
  EXPECT_FALSE(keep_group(std::vector<Reward>{0.1, 0.1, 0.1}));
  EXPECT_FALSE(keep_group(std::vector<Reward>{1.0, std::nullopt, std::nullopt}));
  EXPECT_FALSE(keep_group(std::vector<Reward>{std::nullopt, std::nullopt}));
  EXPECT_FALSE(keep_group({}));
}

TEST(Dapo, OverlongPenaltyFallsLinearly) {
  EXPECT_EQ(overlong_penalty(80, 100, 20), 0.0);
  EXPECT_EQ(overlong_penalty(90, 100, 20), -0.5);
  EXPECT_EQ(overlong_penalty(100, 100, 20), -1.0);
  EXPECT_EQ(overlong_penalty(101, 100, 20), -1.0);
  EXPECT_EQ(overlong_penalty(100, 100, 0), 0.0);
  EXPECT_EQ(overlong_penalty(101, 100, 0), -1.0);
}

}  // namespace
}  // namespace nereus::rl
