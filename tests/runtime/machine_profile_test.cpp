#include "nereus/runtime/machine_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/cluster/cluster_file.h"
#include "nereus/kernels/matrix.h"

namespace nereus::runtime {
namespace {

using ::testing::HasSubstr;

TEST(MachineProfile, MeasuresThisProcessor) {
  ProfileOptions options;
  options.seconds = 0.01;
  options.name = "here";
  std::vector<int64_t> steps;
  const SteadyClock clock;
  const auto profile = profile_machine(options, clock, [&](int64_t done, int64_t total) {
    steps.push_back(done);
    EXPECT_EQ(total, 4);
  });
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_GT(profile->f32_flops, 1e9);
  EXPECT_EQ(profile->bf16_flops > 0, kernels::has_fast_bf16());
  EXPECT_GT(profile->memory_bandwidth, 1e8);
  EXPECT_GT(profile->copy_bandwidth, 1e8);
  EXPECT_GT(profile->memory, profile->context);
  EXPECT_GT(profile->context, 1e6);
  EXPECT_FALSE(profile->network);
  const auto cluster = cluster::parse_cluster(cluster_file(*profile), "here.toml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->machines[0].name, "here");
}

TEST(MachineProfile, NobodyListens) {
  ProfileOptions options;
  options.network = "127.0.0.1:1";
  const SteadyClock clock;
  const auto profile = profile_machine(options, clock, [](int64_t, int64_t) {});
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().message, HasSubstr("127.0.0.1:1: Connection refused"));
}

TEST(ClusterFileOfAProfile, DevicesShareWhatTheMachineHas) {
  MachineProfile profile;
  profile.name = "box";
  profile.processor = "CPU \"X\"";
  profile.devices = 4;
  profile.memory = 64e9;
  profile.context = 0.2e9;
  profile.f32_flops = 400e9;
  profile.bf16_flops = 800e9;
  profile.memory_bandwidth = 40e9;
  profile.copy_bandwidth = 20e9;
  profile.network = NetworkSpeed{1.25e9, 5e-5};
  const std::string text = cluster_file(profile);
  EXPECT_THAT(text, HasSubstr("400.0 GFLOP/s in fp32, 800.0 in bf16"));
  const auto cluster = cluster::parse_cluster(text, "box.toml");
  ASSERT_TRUE(cluster) << cluster.error().message << text;
  ASSERT_EQ(cluster->devices(), 4);
  const auto& machine = cluster->machines[0];
  EXPECT_EQ(machine.kind.name, "CPU \"X\"");
  EXPECT_NEAR(machine.kind.memory, 12e9, 1);
  EXPECT_NEAR(machine.kind.flops, 200e9, 1);
  EXPECT_NEAR(machine.kind.memory_bandwidth, 10e9, 1);
  EXPECT_NEAR(machine.kind.link_bandwidth, 5e9, 1);
  EXPECT_NEAR(machine.kind.context, 0.2e9, 1);
  EXPECT_NEAR(machine.host_memory, 16e9, 1);
  EXPECT_NEAR(machine.network_bandwidth, 1.25e9, 1);
  EXPECT_NEAR(cluster->network_latency, 5e-5, 1e-12);
  profile.network.reset();
  profile.bf16_flops = 0;
  EXPECT_THAT(cluster_file(profile), HasSubstr("no bf16 in hardware"));
  EXPECT_THAT(cluster_file(profile), HasSubstr("The network was not measured"));
}

}  // namespace
}  // namespace nereus::runtime
