#include "nereus/plan/pools.h"

#include <gtest/gtest.h>

#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

TEST(SharedPools, AllDevicesThenEachKind) {
  EXPECT_EQ(shared_pools(machines_of(a100(), 2)).size(), 1);
  cluster::Cluster mixed = machines_of(a100(), 2);
  mixed.machines.push_back(machines_of(h100(), 1).machines[0]);
  const auto pools = shared_pools(mixed);
  ASSERT_EQ(pools.size(), 3);
  EXPECT_EQ(pools[0].size(), 24);
  EXPECT_EQ(pools[1].size(), 16);
  EXPECT_EQ(pools[2].front(), 16);
}

TEST(Splits, CoverAllDevicesOnce) {
  cluster::Cluster mixed = machines_of(a100(), 3);
  mixed.machines.push_back(machines_of(h100(), 1).machines[0]);
  for (const cluster::Cluster& cluster :
       {machines_of(a100(), 1), machines_of(a100(), 5), machines_of(a100(), 128), mixed}) {
    const auto all = splits(cluster);
    EXPECT_FALSE(all.empty());
    for (const auto& split : all) {
      EXPECT_EQ(split[0].size() + split[1].size(), static_cast<size_t>(cluster.devices()));
      EXPECT_FALSE(split[0].empty() || split[1].empty());
    }
  }
}

TEST(Splits, BetweenDevicesOfOneMachineAndBetweenMachines) {
  EXPECT_EQ(splits(machines_of(a100(), 1)).size(), 4);
  EXPECT_EQ(splits(machines_of(a100(), 128)).size(), 2);
  for (const auto& split : splits(machines_of(a100(), 128))) EXPECT_EQ(split[0].size() % 8, 0);
  EXPECT_TRUE(splits(machines_of(a100(), 1, 1)).empty());
}

}  // namespace
}  // namespace nereus::plan
