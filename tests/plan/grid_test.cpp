#include "nereus/plan/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

std::vector<int32_t> all_of(const cluster::Cluster& cluster) {
  std::vector<int32_t> devices(static_cast<size_t>(cluster.devices()));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

TEST(GridSet, TensorGroupsStayInAMachine) {
  const cluster::Cluster cluster = machines_of(a100(), 2, 6);
  GridSet grids(cluster, all_of(cluster));
  const Grid* grid = grids.find(4, 1, 100);
  ASSERT_NE(grid, nullptr);
  EXPECT_EQ(grid->layout, (Layout{2, 1, 4}));
  EXPECT_THAT(grid->devices, testing::ElementsAre(0, 1, 2, 3, 6, 7, 8, 9));
  EXPECT_EQ(grids.find(4, 1, 100), grid);
}

TEST(GridSet, LargerGroupsSpanMachines) {
  const cluster::Cluster cluster = machines_of(a100(), 4, 2);
  GridSet grids(cluster, all_of(cluster));
  const Grid* grid = grids.find(4, 1, 100);
  ASSERT_NE(grid, nullptr);
  EXPECT_EQ(grid->layout, (Layout{2, 1, 4}));
  EXPECT_EQ(grid->links.tensor.latency, cluster.network_latency);
}

TEST(GridSet, NoMoreReplicasThanAskedFor) {
  const cluster::Cluster cluster = machines_of(a100(), 1);
  GridSet grids(cluster, all_of(cluster));
  EXPECT_EQ(grids.find(1, 1, 3)->layout, (Layout{3, 1, 1}));
  EXPECT_EQ(grids.find(16, 1, 3), nullptr);
}

TEST(GridSet, LayoutsThatSuitTheModel) {
  const cluster::Cluster cluster = machines_of(a100(), 1);
  GridSet grids(cluster, all_of(cluster));
  for (const Grid* grid : grids.all(qwen_7b(), 100)) {
    // 28 heads, 4 KV heads.
    EXPECT_THAT((std::vector<int32_t>{1, 2, 4}), testing::Contains(grid->layout.tp));
    EXPECT_LE(grid->layout.ranks(), 8);
  }
  EXPECT_EQ(grids.all(llama_8b(), 100).size(), 10);
}

TEST(GridSet, PipelinesOfWhatDividesTheGroups) {
  const cluster::Cluster cluster = machines_of(a100(), 3, 4);
  GridSet grids(cluster, all_of(cluster));
  std::vector<int32_t> sizes;
  for (const Grid* grid : grids.all(llama_8b(), 100)) {
    if (grid->layout.tp == 4) sizes.push_back(grid->layout.pp);
  }
  EXPECT_THAT(sizes, testing::ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace nereus::plan
