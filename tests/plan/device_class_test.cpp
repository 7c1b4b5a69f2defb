#include "nereus/plan/device_class.h"

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

TEST(DeviceClasses, ByPipelineIndexInEveryGrid) {
  const cluster::Cluster cluster = machines_of(a100(), 16);
  GridSet grids(cluster, all_of(cluster));
  const Grid* flat = grids.find(1, 1, 1000);
  const Grid* two = grids.find(4, 2, 1000);
  const Grid* four = grids.find(2, 4, 1000);
  EXPECT_EQ(DeviceClasses(cluster, {flat}, 0.9).count(), 1);
  EXPECT_EQ(DeviceClasses(cluster, {flat, two}, 0.9).count(), 2);
  const DeviceClasses classes(cluster, {flat, two, four}, 0.9);
  EXPECT_EQ(classes.count(), 4);
  EXPECT_EQ(classes.pipeline(four), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(classes.pipeline(two), (std::vector<int32_t>{0, 0, 1, 1}));
  EXPECT_DOUBLE_EQ(classes.room()[0], 0.9 * 80e9 - a100().context);
}

TEST(DeviceClasses, ByKindAndByWhetherTheyAreUsed) {
  cluster::Cluster cluster = machines_of(a100(), 1, 3);
  cluster.machines.push_back(machines_of(h100(), 1, 2).machines[0]);
  cluster.machines[1].kind.memory = 141e9;
  GridSet grids(cluster, all_of(cluster));
  const Grid* pairs = grids.find(2, 1, 1000);  // devices 0, 1 and 3, 4
  const DeviceClasses classes(cluster, {pairs}, 0.9);
  EXPECT_EQ(classes.count(), 3);
  EXPECT_EQ(classes.pipeline(pairs), (std::vector<int32_t>{0, -1, 0}));
}

TEST(DeviceClasses, MachinesThatAreAlikeAreOneHost) {
  const cluster::Cluster cluster = machines_of(a100(), 16);
  GridSet grids(cluster, all_of(cluster));
  const DeviceClasses classes(cluster, {grids.find(8, 1, 1000), grids.find(4, 2, 1000)}, 0.5);
  EXPECT_EQ(classes.hosts(), 1);
  EXPECT_EQ(classes.host_room()[0], 0.5e12);
  EXPECT_EQ(classes.host_devices(0), (std::vector<int32_t>{4, 4}));
}

}  // namespace
}  // namespace nereus::plan
