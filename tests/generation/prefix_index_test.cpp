#include "nereus/generation/prefix_index.h"

#include <gtest/gtest.h>

#include "nereus/base/random.h"

namespace nereus::generation {
namespace {

using Tokens = std::vector<int32_t>;
using Blocks = std::vector<int64_t>;

TEST(PrefixIndex, FindsTheLongestPrefixOfWholeBlocks) {
  PrefixIndex index(2);
  index.add(1, Tokens{1, 2, 3, 4, 5, 6, 7}, {10, 11, 12, 13});
  const std::tuple<uint64_t, Tokens, Blocks> cases[] = {
      {1, {1, 2, 3, 4, 5, 6, 7, 8}, {10, 11, 12}},  // the last block was not full
      {1, {1, 2, 3, 4, 9, 9}, {10, 11}},
      {1, {1, 2, 3}, {10}},
      {1, {1}, {}},
      {1, {}, {}},
      {1, {3, 4, 5, 6}, {}},  // the same tokens elsewhere in a prompt are something else
      {1, {2, 1, 3, 4}, {}},
      {2, {1, 2, 3, 4}, {}},  // another policy
  };
  for (const auto& [policy, tokens, expected] : cases) EXPECT_EQ(index.find(policy, tokens), expected);
  EXPECT_TRUE(index.holds(12));
  EXPECT_FALSE(index.holds(13));
}

TEST(PrefixIndex, WhatIsKnownOnceIsNotKnownTwice) {
  PrefixIndex index(2);
  index.add(1, Tokens{1, 2, 3, 4}, {10, 11});
  index.add(1, Tokens{1, 2, 3, 4, 5, 6}, {10, 21, 22});
  EXPECT_EQ(index.find(1, Tokens{1, 2, 3, 4, 5, 6}), (Blocks{10, 11, 22}));
  EXPECT_FALSE(index.holds(21));
}

TEST(PrefixIndex, RemovedBlocksHideWhatFollowed) {
  PrefixIndex index(2);
  index.add(1, Tokens{1, 2, 3, 4, 5, 6}, {10, 11, 12});
  index.remove(11);
  index.remove(77);
  EXPECT_EQ(index.find(1, Tokens{1, 2, 3, 4, 5, 6}), Blocks{10});
  EXPECT_TRUE(index.holds(12));
  // A new block in its place does not bring back what followed the old one.
  index.add(1, Tokens{1, 2, 3, 4}, {10, 20});
  EXPECT_EQ(index.find(1, Tokens{1, 2, 3, 4, 5, 6}), (Blocks{10, 20}));
}

TEST(PrefixIndex, APolicyIsRemovedWhole) {
  PrefixIndex index(2);
  index.add(1, Tokens{1, 2, 3, 4}, {10, 11});
  index.add(2, Tokens{1, 2, 3, 4}, {20, 21});
  index.remove_policy(1);
  EXPECT_TRUE(index.find(1, Tokens{1, 2, 3, 4}).empty());
  EXPECT_EQ(index.find(2, Tokens{1, 2, 3, 4}), (Blocks{20, 21}));
  EXPECT_FALSE(index.holds(10));
}

// Against a search through all that was added, over few tokens, so that prefixes meet often.
TEST(PrefixIndex, EqualsASearchThroughAllPrompts) {
  RandomStream random(7, 0);
  PrefixIndex index(2);
  std::vector<std::pair<uint64_t, Tokens>> known;
  int64_t block = 0;
  for (int turn = 0; turn < 400; ++turn) {
    const uint64_t policy = random.below(2);
    Tokens tokens(random.below(10));
    for (int32_t& token : tokens) token = static_cast<int32_t>(random.below(2));
    size_t longest = 0;
    for (const auto& [other, prompt] : known) {
      size_t same = 0;
      while (same < std::min(prompt.size(), tokens.size()) && prompt[same] == tokens[same]) ++same;
      if (other == policy) longest = std::max(longest, same / 2);
    }
    Blocks blocks = index.find(policy, tokens);
    ASSERT_EQ(blocks.size(), longest);
    while (blocks.size() < (tokens.size() + 1) / 2) blocks.push_back(block++);
    index.add(policy, tokens, blocks);
    known.emplace_back(policy, tokens);
  }
}

}  // namespace
}  // namespace nereus::generation
