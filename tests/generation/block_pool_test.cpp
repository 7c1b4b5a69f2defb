#include "nereus/generation/block_pool.h"

#include <gtest/gtest.h>

namespace nereus::generation {
namespace {

using Tokens = std::vector<int32_t>;
using Blocks = std::vector<int64_t>;

Blocks taken(BlockPool& pool, int64_t count) {
  Blocks blocks;
  EXPECT_TRUE(pool.take(count, blocks));
  return blocks;
}

TEST(BlockPool, GivesAllOrNothing) {
  BlockPool pool(3);
  Blocks blocks = taken(pool, 2);
  EXPECT_EQ(blocks, (Blocks{0, 1}));
  Blocks more;
  EXPECT_FALSE(pool.take(2, more));
  EXPECT_TRUE(more.empty());
  pool.give_back(blocks);
  EXPECT_TRUE(blocks.empty());
  EXPECT_EQ(pool.free(), 3);
  EXPECT_EQ(taken(pool, 3), (Blocks{0, 1, 2}));
}

TEST(BlockPool, KeptBlocksAreFreeAndFound) {
  BlockPool pool(4, 2);
  Blocks blocks = taken(pool, 3);
  pool.keep(1, Tokens{1, 2, 3, 4, 5}, blocks);
  EXPECT_EQ(pool.kept(), 0);  // in use
  pool.give_back(blocks);
  EXPECT_EQ(pool.free(), 4);
  EXPECT_EQ(pool.kept(), 2);
  Blocks again = pool.take_prefix(1, Tokens{1, 2, 3, 4, 9});
  EXPECT_EQ(again, (Blocks{0, 1}));
  EXPECT_EQ(pool.free(), 2);
  pool.give_back(again);
  EXPECT_EQ(pool.free(), 4);
}

TEST(BlockPool, SharedBlocksStayUntilTheLastUserLeaves) {
  BlockPool pool(4, 2);
  Blocks first = taken(pool, 2);
  pool.keep(1, Tokens{1, 2, 3, 4}, first);
  Blocks second = pool.take_prefix(1, Tokens{1, 2, 3, 4});
  EXPECT_EQ(second, first);
  pool.give_back(first);
  EXPECT_EQ(pool.free(), 2);
  Blocks others = taken(pool, 2);
  EXPECT_FALSE(pool.take(1, others));
  pool.give_back(second);
  EXPECT_EQ(pool.free(), 2);
}

TEST(BlockPool, GivesUpWhatWasNotUsedForLongestAndEndsBeforeBeginnings) {
  BlockPool pool(4, 2);
  Blocks old = taken(pool, 2), young = taken(pool, 2);
  pool.keep(1, Tokens{1, 2, 3, 4}, old);
  pool.keep(1, Tokens{5, 6, 7, 8}, young);
  pool.give_back(old);
  pool.give_back(young);
  Blocks used = pool.take_prefix(1, Tokens{1, 2, 3, 4});  // now the other is the old one
  pool.give_back(used);
  EXPECT_EQ(taken(pool, 1), Blocks{3});
  Blocks rest = pool.take_prefix(1, Tokens{5, 6, 7, 8});
  EXPECT_EQ(rest, Blocks{2});
  pool.give_back(rest);
  EXPECT_EQ(taken(pool, 1), Blocks{1});
  EXPECT_EQ(pool.take_prefix(1, Tokens{1, 2, 3, 4}), Blocks{0});
  EXPECT_EQ(pool.kept(), 1);
}

TEST(BlockPool, EmptyBlocksAreTakenBeforeKeptOnes) {
  BlockPool pool(4, 2);
  Blocks blocks = taken(pool, 2);
  pool.keep(1, Tokens{1, 2, 3, 4}, blocks);
  pool.give_back(blocks);
  taken(pool, 2);
  EXPECT_EQ(pool.kept(), 2);
}

TEST(BlockPool, WhatIsForgottenIsEmpty) {
  BlockPool pool(6, 2);
  Blocks a = taken(pool, 2), b = taken(pool, 2), used = taken(pool, 2);
  pool.keep(1, Tokens{1, 2, 3, 4}, a);
  pool.keep(2, Tokens{1, 2, 3, 4}, b);
  pool.keep(1, Tokens{7, 7, 7, 7}, used);
  pool.give_back(a);
  pool.give_back(b);
  pool.forget(1);
  EXPECT_EQ(pool.kept(), 2);
  EXPECT_EQ(pool.free(), 4);
  EXPECT_TRUE(pool.take_prefix(1, Tokens{1, 2, 3, 4}).empty());
  EXPECT_TRUE(pool.take_prefix(1, Tokens{7, 7, 7, 7}).empty());  // though it is in use
  pool.give_back(used);
  EXPECT_EQ(pool.kept(), 2);
  pool.forget_all();
  EXPECT_EQ(pool.kept(), 0);
  EXPECT_EQ(pool.free(), 6);
  EXPECT_EQ(taken(pool, 6).size(), 6U);
}

}  // namespace
}  // namespace nereus::generation
