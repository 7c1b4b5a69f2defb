#include "nereus/simulator/reshard.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nereus/base/random.h"
#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using test::small_cluster;

constexpr int64_t kLayers = 22;

ModelSize size() {
  return size_of({plan::Role::actor, test::small_model(), 0});
}

double whole() {
  const auto s = size();
  return s.embedding + s.head + kLayers * s.layer;
}

plan::Placement placed(plan::Layout layout, int32_t first = 0) {
  auto placement = test::plan_of(test::small_job(), layout).placements.front();
  for (int32_t& device : placement.devices) device += first;
  return placement;
}

Links links_of(const cluster::Cluster& cluster) {
  return {cluster, 1, 1, 20e9};
}

double volume(const Part& part) {
  return (part.end - part.begin) * (part.high - part.low);
}

TEST(Reshard, PartsTileTheModel) {
  for (const plan::Layout layout : {plan::Layout{1, 1, 1}, {2, 3, 4}, {4, 2, 1}})
    for (const bool sharded : {false, true}) {
      double sum = 0;
      size_t holders = 0;
      for (const auto& part : parts_of(placed(layout), size(), kLayers, sharded, {})) {
        sum += volume(part);
        holders += part.holders.size();
      }
      EXPECT_NEAR(sum, whole(), 1e-6 * whole());
      EXPECT_EQ(holders, static_cast<size_t>(layout.ranks()));
    }
}

TEST(Reshard, SameLayoutMovesNothing) {
  const auto cluster = small_cluster(2, 4);
  const auto parts = parts_of(placed({2, 2, 2}), size(), kLayers, true, {});
  const auto result = reshard(links_of(cluster), parts, parts, 12);
  EXPECT_EQ(result.moved + result.stored, 0);
  EXPECT_TRUE(result.flows.empty());
}

TEST(Reshard, MovesWhatIsNeededLessWhatIsHeld) {
  // From two tensor ranks to one of device 0 alone: it holds half.
  const auto cluster = small_cluster(1, 4);
  const auto result = reshard(links_of(cluster), parts_of(placed({1, 1, 2}), size(), kLayers, false, {}),
                              parts_of(placed({1, 1, 1}), size(), kLayers, false, {}), 2);
  EXPECT_NEAR(result.moved, whole(), 1e-6 * whole());  // half of the parameters, two bytes each
}

TEST(Reshard, EntersAMachineOnce) {
  // One device of machine 0 holds all; the four of machine 1 want it.
  const auto cluster = small_cluster(2, 4);
  const Links links = links_of(cluster);
  const auto result = reshard(links, parts_of(placed({1, 1, 1}), size(), kLayers, false, {}),
                              parts_of(placed({4, 1, 1}, 4), size(), kLayers, false, {}), 1);
  ASSERT_EQ(result.flows.size(), 4U);
  int across = 0;
  for (const auto& flow : result.flows) across += flow.links.size() == 4 ? 1 : 0;
  EXPECT_EQ(across, 1);
  EXPECT_NEAR(result.moved, 4 * whole(), 1e-6 * whole());
}

TEST(Reshard, WhatIsLostComesFromStorage) {
  const auto cluster = small_cluster(2, 4);
  std::vector<bool> lost(8, false);
  lost[0] = true;
  const auto source = parts_of(placed({1, 1, 2}), size(), kLayers, false, lost);
  EXPECT_TRUE(source.front().holders.empty());
  const auto result =
      reshard(links_of(cluster), source, parts_of(placed({1, 1, 1}, 1), size(), kLayers, false, {}), 2);
  EXPECT_NEAR(result.stored, whole(), 1e-6 * whole());
  EXPECT_EQ(result.moved, 0);
}

TEST(Reshard, EveryTargetIsFilledForRandomPairs) {
  RandomStream random(9, 1);
  const auto cluster = small_cluster(4, 4);
  const Links links = links_of(cluster);
  const std::vector<plan::Layout> layouts{{1, 1, 1},  {2, 1, 4}, {1, 2, 4}, {4, 2, 2},
                                          {16, 1, 1}, {2, 4, 1}, {1, 3, 2}};
  for (int round = 0; round < 300; ++round) {
    const auto from = placed(layouts[random.below(layouts.size())]),
               to = placed(layouts[random.below(layouts.size())]);
    const auto source = parts_of(from, size(), kLayers, random.below(2) == 0, {});
    const auto target = parts_of(to, size(), kLayers, random.below(2) == 0, {});
    const auto result = reshard(links, source, target, 1);
    double needed = 0, held = 0;
    for (const auto& part : target) {
      needed += volume(part) * static_cast<double>(part.holders.size());
      for (const auto& old : source)
        for (const int32_t device : part.holders)
          if (std::ranges::find(old.holders, device) != old.holders.end())
            held += std::max(0.0, std::min(part.end, old.end) - std::max(part.begin, old.begin)) *
                    std::max(0.0, std::min(part.high, old.high) - std::max(part.low, old.low));
    }
    EXPECT_NEAR(result.moved + result.stored, needed - held, 1e-6 * needed) << round;
    EXPECT_EQ(result.stored, 0);
  }
}

}  // namespace
}  // namespace nereus::simulator
