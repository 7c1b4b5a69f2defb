#include "nereus/rl/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::rl {
namespace {

TEST(Groups, SizesFollowThePrompts) {
  const std::vector<uint64_t> prompts{7, 7, 7, 2, 2, 9};
  EXPECT_EQ(value_or_throw(group_sizes(prompts)), (std::vector<int64_t>{3, 2, 1}));
  EXPECT_TRUE(value_or_throw(group_sizes({})).empty());
}

// Rows of one group that are split or mixed with others are refused [tunix 820].
TEST(Groups, Fault39_MixedGroupsAreRefused) {
  const std::vector<uint64_t> mixed{7, 2, 7, 2};
  const auto sizes = group_sizes(mixed);
  ASSERT_FALSE(sizes);
  EXPECT_THAT(sizes.error().message, testing::HasSubstr("completion 2 belongs to prompt 7"));
  EXPECT_FALSE(check_groups(std::vector<int64_t>{4, 4}, 7));
  EXPECT_FALSE(check_groups(std::vector<int64_t>{4, 1}, 5));
  EXPECT_TRUE(check_groups(std::vector<int64_t>{4, 3}, 7));
}

}  // namespace
}  // namespace nereus::rl
