#include "nereus/simulator/axis.h"

#include <gtest/gtest.h>

#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using test::small_cluster;

plan::Placement placed(plan::Layout layout) {
  return test::plan_of(test::small_job(), layout).placements.front();
}

TEST(Axis, RanksAreNumberedAsPlansSay) {
  const plan::Layout layout{2, 3, 4};
  for (int32_t rank = 0; rank < layout.ranks(); ++rank)
    EXPECT_EQ(rank_of(layout, index_of(layout, rank)), rank);
  const auto at = index_of(layout, 17);
  EXPECT_EQ(at.tensor, 1);
  EXPECT_EQ(at.pipeline, 1);
  EXPECT_EQ(at.data, 1);
}

TEST(Axis, EachAxisCrossesItsOwnLinks) {
  const auto cluster = small_cluster(2, 4);
  const WorldOptions world;
  const Links links(cluster, world.link_efficiency, world.network_efficiency, 1e9);
  const auto axes = axes_of(links, world, placed({2, 1, 4}));
  EXPECT_DOUBLE_EQ(axes.tensor.rate, 300e9 * world.link_efficiency);
  // Four data groups share the network of a machine, 50 GB/s.
  EXPECT_NEAR(axes.data.rate, 50e9 * world.network_efficiency / 4, 1);
  EXPECT_GT(axes.data.latency, axes.tensor.latency);
  EXPECT_EQ(axes.pipeline.all_reduce(1e9), 0);
  // A tensor group over both machines is as slow as the network, which it crosses once each way.
  const auto wide = axes_of(links, world, placed({1, 1, 8}));
  EXPECT_LT(wide.tensor.rate, 0.1 * axes.tensor.rate);
}

TEST(Axis, RingFormulas) {
  const Axis axis{4, 100, 0.5};
  EXPECT_DOUBLE_EQ(axis.all_reduce(400), 2 * 0.75 * 400 / 100 + 0.5);
  EXPECT_DOUBLE_EQ(axis.half(400), 0.75 * 400 / 100 + 0.5);
  EXPECT_DOUBLE_EQ(axis.send(400), 4.5);
  EXPECT_EQ((Axis{1, 0, 0}.send(400)), 0);
}

}  // namespace
}  // namespace nereus::simulator
