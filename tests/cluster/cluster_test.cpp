#include "nereus/cluster/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::cluster {
namespace {

TEST(Cluster, DevicesAreNumberedMachineByMachine) {
  Cluster cluster;
  for (const int32_t devices : {4, 1, 3}) {
    Machine machine;
    machine.kind.name = "kind of " + std::to_string(devices);
    machine.devices = devices;
    cluster.machines.push_back(machine);
  }
  EXPECT_EQ(cluster.devices(), 8);
  const std::vector<int32_t> machines = {0, 0, 0, 0, 1, 2, 2, 2};
  for (int32_t device = 0; device < 8; ++device) {
    EXPECT_EQ(cluster.machine_of(device), machines[static_cast<size_t>(device)]) << device;
    EXPECT_EQ(&cluster.kind(device),
              &cluster.machines[static_cast<size_t>(machines[static_cast<size_t>(device)])].kind);
  }
  EXPECT_EQ(machine_of_each(cluster), machines);
  EXPECT_EQ(cluster.first_device(0), 0);
  EXPECT_EQ(cluster.first_device(2), 5);
  EXPECT_EQ(cluster.first_device(3), 8);
  EXPECT_EQ(Cluster().devices(), 0);
}

}  // namespace
}  // namespace nereus::cluster
