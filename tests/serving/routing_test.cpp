#include "nereus/serving/routing.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/serving/replay.h"

namespace nereus::serving {
namespace {

using test::Policy;
using test::Replay;
using test::ReplayResult;

std::vector<int32_t> tokens(int32_t first, size_t count) {
  std::vector<int32_t> list(count);
  std::iota(list.begin(), list.end(), first);
  return list;
}

std::vector<uint64_t> blocks(std::vector<int32_t> prompt) {
  return block_hashes("policy-v1", prompt, 16);
}

std::vector<int32_t> operator+(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A router over servers whose load a test sets.
struct Servers {
  explicit Servers(size_t count, RouterOptions options = {})
      : router(count, options), running(count), eligible(count, true) {}
  Route choose(const std::vector<uint64_t>& prompt) { return router.choose(prompt, running, eligible); }

  PrefixRouter router;
  std::vector<int64_t> running;
  std::vector<bool> eligible;
};

TEST(BlockHashes, ChainedWholeBlocksOfOneAdapter) {
  const auto a = block_hashes("x", tokens(0, 40), 16);
  ASSERT_EQ(a.size(), 2U);  // the third is incomplete
  EXPECT_EQ(block_hashes("x", tokens(0, 33), 16), a);
  EXPECT_NE(block_hashes("y", tokens(0, 40), 16)[0], a[0]);
  // The same block behind another one is another block.
  EXPECT_NE(block_hashes("x", tokens(100, 16) + tokens(16, 16), 16)[1], a[1]);
  EXPECT_TRUE(block_hashes("x", tokens(0, 15), 16).empty());
  EXPECT_NE(text_block_hashes("x", std::string(64, 'a'), 64),
            text_block_hashes("x", std::string(64, 'b'), 64));
}

TEST(PrefixRouter, AGroupStaysTogether) {
  Servers servers(4);
  servers.running = {3, 1, 2, 2};
  const auto prompt = blocks(tokens(0, 100));
  EXPECT_EQ(servers.choose(prompt).server, 1U);
  servers.running[1] = 5;
  const auto second = servers.choose(prompt);
  EXPECT_EQ(second.server, 1U);
  EXPECT_EQ(second.reason, RouteReason::affinity);
  EXPECT_EQ(second.matched_blocks, 6U);
}

TEST(PrefixRouter, TheLeastLoadedInTurn) {
  Servers servers(3);
  std::vector<size_t> chosen;
  for (int32_t i = 0; i < 6; ++i) chosen.push_back(servers.choose(blocks(tokens(1000 * i, 32))).server);
  EXPECT_EQ(chosen, (std::vector<size_t>{0, 1, 2, 0, 1, 2}));
}

TEST(PrefixRouter, ASystemPromptDecidesNothingOnceAllServersHadIt) {
  Servers servers(3);
  const auto system = tokens(0, 64);
  for (size_t busy = 0; busy < 3; ++busy) {
    servers.running.assign(3, 20);
    servers.running[busy] = 0;
    servers.choose(blocks(system + tokens(static_cast<int32_t>(1000 + 100 * busy), 32)));
  }
  servers.running.assign(3, 0);
  for (int32_t i = 10; i < 16; ++i)
    EXPECT_EQ(servers.choose(blocks(system + tokens(1000 * i, 32))).reason, RouteReason::fresh) << i;
  const auto again = servers.choose(blocks(system + tokens(1100, 32)));
  EXPECT_EQ(again.server, 1U);
  EXPECT_EQ(again.reason, RouteReason::affinity);
}

TEST(PrefixRouter, ABlockWithSeveralSuccessorsDecidesNothing) {
  Servers servers(3);
  const auto system = tokens(0, 16);  // one block
  servers.choose(blocks(system + tokens(1000, 32)));
  servers.choose(blocks(system + tokens(2000, 32)));
  EXPECT_EQ(servers.choose(blocks(system + tokens(3000, 32))).reason, RouteReason::fresh);
}

TEST(PrefixRouter, ABlockThatAllServersHadDecidesNothing) {
  Servers servers(2);
  const auto prompt = blocks(tokens(0, 32));
  servers.running = {0, 9};
  EXPECT_EQ(servers.choose(prompt).server, 0U);
  servers.running = {9, 0};
  EXPECT_EQ(servers.choose(prompt).reason, RouteReason::spilled);  // now both have it
  servers.running = {0, 0};
  EXPECT_EQ(servers.choose(prompt).reason, RouteReason::fresh);
}

TEST(PrefixRouter, SpillsWhenTooFarAhead) {
  const auto prompt = blocks(tokens(0, 32));
  for (const int64_t ahead : {8, 9}) {
    Servers servers(3);
    servers.running = {0, 1, 1};
    servers.choose(prompt);
    servers.running = {1 + ahead, 1, 2};
    const auto route = servers.choose(prompt);
    EXPECT_EQ(route.reason, ahead > 8 ? RouteReason::spilled : RouteReason::affinity) << ahead;
    EXPECT_EQ(route.server, ahead > 8 ? 1U : 0U);
  }
}

TEST(PrefixRouter, TheAllowanceGrowsWithTheLoad) {
  struct Case {
    std::vector<int64_t> running;
    RouteReason reason;
  };
  // A quarter of the mean of 74 is 18.5.
  for (const Case& c :
       {Case{{86, 68, 68}, RouteReason::affinity}, Case{{87, 68, 67}, RouteReason::spilled}}) {
    Servers servers(3);
    const auto prompt = blocks(tokens(0, 32));
    EXPECT_EQ(servers.choose(prompt).server, 0U);
    servers.running = c.running;
    EXPECT_EQ(servers.choose(prompt).reason, c.reason) << c.running[0];
  }
}

TEST(PrefixRouter, TheLongestSpecificMatchWins) {
  Servers servers(3);
  const auto start = tokens(0, 64);
  servers.running = {0, 1, 1};
  servers.choose(blocks(start));
  servers.running = {20, 0, 1};
  servers.choose(blocks(start + tokens(500, 64)));  // spills to server 1, which has more of it now
  servers.running = {0, 0, 0};
  EXPECT_EQ(servers.choose(blocks(start + tokens(500, 80))).server, 1U);
}

TEST(PrefixRouter, OnlyEligibleServers) {
  Servers servers(3);
  const auto prompt = blocks(tokens(0, 32));
  EXPECT_EQ(servers.choose(prompt).server, 0U);
  servers.eligible[0] = false;
  EXPECT_EQ(servers.choose(prompt).server, 1U);
  servers.eligible = {false, false, true};
  EXPECT_EQ(servers.choose(prompt).server, 2U);
}

TEST(PrefixRouter, AServerThatLostItsCacheIsForgotten) {
  Servers servers(3);
  const auto prompt = blocks(tokens(0, 32));
  servers.choose(prompt);
  servers.router.forget(0);
  servers.running = {5, 0, 5};
  const auto route = servers.choose(prompt);
  EXPECT_EQ(route.server, 1U);
  EXPECT_EQ(route.reason, RouteReason::fresh);
}

TEST(PrefixRouter, RemembersABoundedNumberOfBlocks) {
  Servers servers(70, {.max_blocks = 1000});
  const auto first = blocks(tokens(0, 160));
  servers.choose(first);
  for (int32_t i = 1; i < 500; ++i) servers.choose(blocks(tokens(1000 * i, 160)));
  EXPECT_EQ(servers.router.remembered(), 1000U);
  EXPECT_EQ(servers.choose(first).reason, RouteReason::fresh);
  EXPECT_EQ(servers.choose(blocks(tokens(499000, 160))).reason, RouteReason::affinity);
  // A prompt longer than the memory does not push its own beginning out.
  EXPECT_EQ(servers.choose(blocks(tokens(7, 40000))).reason, RouteReason::fresh);
  EXPECT_EQ(servers.choose(blocks(tokens(7, 40000))).reason, RouteReason::affinity);
}

double share(size_t part, const ReplayResult& result) {
  return static_cast<double>(part) / static_cast<double>(result.requests);
}

void expect_good(const ReplayResult& result) {
  EXPECT_EQ(result.requests, 64728U);
  EXPECT_GE(share(result.affinity, result), 0.845);
  EXPECT_LE(share(result.spilled, result), 0.013);
  EXPECT_LE(result.busiest, 1.3);
  EXPECT_LE(result.crowded, 1.3);
}

TEST(PrefixRouter, ReplayOfSingleTurns) {
  const auto prefix = Replay({}).run(Policy::prefix);
  expect_good(prefix);
  const auto turns = Replay({}).run(Policy::round_robin);
  const auto loads = Replay({}).run(Policy::least_loaded);
  // At most three quarters of what the others have to compute.
  EXPECT_LT(1 - prefix.hit_rate, 0.75 * (1 - turns.hit_rate));
  EXPECT_LT(1 - prefix.hit_rate, 0.75 * (1 - loads.hit_rate));
}

TEST(PrefixRouter, ReplayOfGroupsThatMixOnTheirWay) {
  test::ReplayOptions options;
  options.interleaved = 2;
  expect_good(Replay(options).run(Policy::prefix));
}

TEST(PrefixRouter, ReplayOfConversations) {
  test::ReplayOptions options;
  options.turns = 3;
  options.rollouts = 21576;
  options.burst_groups = 32;
  expect_good(Replay(options).run(Policy::prefix));
  options.burst_groups = 8;
  const auto prefix = Replay(options).run(Policy::prefix);
  expect_good(prefix);
  EXPECT_LT(1 - prefix.hit_rate, 0.75 * (1 - Replay(options).run(Policy::least_loaded).hit_rate));
}

}  // namespace
}  // namespace nereus::serving
