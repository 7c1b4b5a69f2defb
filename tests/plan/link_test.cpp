#include "nereus/plan/link.h"

#include <gtest/gtest.h>

#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

constexpr ModelStage kTrain{Role::actor, Stage::train};

TEST(Links, WithinAMachineAllAxesUseItsLinks) {
  const cluster::Cluster cluster = machines_of(a100(), 1);
  const Links links = links_of(cluster, placed(kTrain, {2, 2, 2}));
  for (const Link& link : {links.tensor, links.pipeline, links.data}) {
    EXPECT_EQ(link.bandwidth, 300e9);
    EXPECT_EQ(link.latency, cluster.link_latency);
  }
}

TEST(Links, GroupsThatLeaveAMachineShareItsNetwork) {
  cluster::Cluster cluster = machines_of(a100(), 4);
  for (cluster::Machine& machine : cluster.machines) machine.kind.host_bandwidth = 500e9;
  // Eight data groups with a member in each machine.
  Links links = links_of(cluster, placed(kTrain, {4, 1, 8}));
  EXPECT_EQ(links.tensor.bandwidth, 300e9);
  EXPECT_EQ(links.data.bandwidth, 200e9 / 8);
  EXPECT_EQ(links.data.latency, cluster.network_latency);
  // One data group, which enters and leaves each machine once.
  links = links_of(cluster, placed(kTrain, {32, 1, 1}));
  EXPECT_EQ(links.data.bandwidth, 200e9);
  // A tensor axis over two machines.
  links = links_of(cluster, placed(kTrain, {2, 1, 16}));
  EXPECT_EQ(links.tensor.bandwidth, 200e9);
  EXPECT_EQ(links.tensor.latency, cluster.network_latency);
}

// A ring leaves a machine by one device, however much the machine's network carries.
TEST(Links, AGroupLeavesAMachineByOneHostLink) {
  const cluster::Cluster cluster = machines_of(a100(), 4);
  EXPECT_EQ(links_of(cluster, placed(kTrain, {32, 1, 1})).data.bandwidth, a100().host_bandwidth);
  EXPECT_EQ(links_of(cluster, placed(kTrain, {2, 1, 16})).tensor.bandwidth, a100().host_bandwidth);
  EXPECT_EQ(links_of(cluster, placed(kTrain, {1, 2, 8})).pipeline.bandwidth, a100().host_bandwidth);
}

TEST(Links, PipelineHopsBetweenMachines) {
  cluster::Cluster cluster = machines_of(a100(), 2);
  for (cluster::Machine& machine : cluster.machines) machine.kind.host_bandwidth = 500e9;
  // Two stages in different machines: eight hops out of the first.
  EXPECT_EQ(links_of(cluster, placed(kTrain, {1, 2, 8})).pipeline.bandwidth, 200e9 / 8);
  // Four stages of tp 4: only the middle hop crosses, four ranks wide.
  EXPECT_EQ(links_of(cluster, placed(kTrain, {1, 4, 4})).pipeline.bandwidth, 200e9 / 4);
}

TEST(Links, MachinesOfOneDeviceHaveTheNetworkAlone) {
  cluster::Cluster cluster = machines_of(a100(), 4, 1);
  for (cluster::Machine& machine : cluster.machines) machine.kind.link_bandwidth = 0;
  const Links links = links_of(cluster, placed(kTrain, {2, 1, 2}));
  EXPECT_EQ(links.tensor.bandwidth, a100().host_bandwidth);
  EXPECT_EQ(links.data.bandwidth, a100().host_bandwidth);
}

TEST(Links, TheSlowestDeviceCounts) {
  cluster::Cluster cluster = machines_of(a100(), 1);
  cluster.machines.push_back(machines_of(h100(), 1).machines[0]);
  const Links links = links_of(cluster, placed(kTrain, {16, 1, 1}));
  EXPECT_EQ(links.slowest.flops, a100().flops);
  EXPECT_EQ(links.slowest.link_bandwidth, a100().link_bandwidth);
}

TEST(Collectives, ByHand) {
  const Link link{100e9, 10e-6};
  EXPECT_EQ(all_reduce(link, 1, 1e9), 0);
  EXPECT_EQ(all_gather(link, 1, 1e9), 0);
  // 7/8 of 1 GB at 100 GB/s, and three messages.
  EXPECT_DOUBLE_EQ(all_gather(link, 8, 1e9), 8.75e-3 + 30e-6);
  EXPECT_DOUBLE_EQ(all_reduce(link, 8, 1e9), 2 * (8.75e-3 + 30e-6));
  // 1 kB: three messages are faster than six.
  EXPECT_DOUBLE_EQ(all_reduce(link, 8, 1e3), 3 * (1e-8 + 10e-6));
}

}  // namespace
}  // namespace nereus::plan
