#include "nereus/cluster/cluster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "nereus/config/text_file.h"

namespace nereus::cluster {
namespace {

using ::testing::HasSubstr;

constexpr const char* kText = R"([network]
latency_us = 15
[[machine]]
name = "big"
count = 2
device = "A100-80"
network_gb_s = 50
host_memory_gb = 1152
[[machine]]
name = "old"
devices = 4
device = "own"
memory_gb = 16
tflops_bf16 = 90.5
memory_gb_s = 700
link_gb_s = 20
host_gb_s = 10
context_gb = 0.5
network_gb_s = 3
)";

TEST(ClusterFile, ReadsKnownAndOwnDevices) {
  const auto cluster = parse_cluster(kText, "c.toml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_DOUBLE_EQ(cluster->network_latency, 15e-6);
  EXPECT_DOUBLE_EQ(cluster->link_latency, 5e-6);
  ASSERT_EQ(cluster->machines.size(), 3U);
  EXPECT_EQ(cluster->devices(), 20);
  const auto& [big0, big1, old] = std::tie(cluster->machines[0], cluster->machines[1], cluster->machines[2]);
  EXPECT_EQ(big0.name, "big-0");
  EXPECT_EQ(big1.name, "big-1");
  EXPECT_EQ(big1.kind, *known_device("A100-80"));
  EXPECT_DOUBLE_EQ(big1.host_memory, 1152e9);
  EXPECT_DOUBLE_EQ(big1.network_bandwidth, 50e9);
  EXPECT_EQ(old.name, "old");
  EXPECT_EQ(old.devices, 4);
  EXPECT_DOUBLE_EQ(old.host_memory, 128e9);  // twice that of the devices
  EXPECT_EQ(old.kind.name, "own");
  EXPECT_DOUBLE_EQ(old.kind.memory, 16e9);
  EXPECT_DOUBLE_EQ(old.kind.flops, 90.5e12);
  EXPECT_DOUBLE_EQ(old.kind.memory_bandwidth, 700e9);
  EXPECT_DOUBLE_EQ(old.kind.link_bandwidth, 20e9);
  EXPECT_DOUBLE_EQ(old.kind.host_bandwidth, 10e9);
  EXPECT_DOUBLE_EQ(old.kind.context, 0.5e9);
}

TEST(ClusterFile, OwnFiguresGoBeforeTheKnownOnes) {
  const auto cluster = parse_cluster("[[machine]]\ndevice = \"H100\"\nmemory_gb = 94\n", "c.toml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_DOUBLE_EQ(cluster->kind(0).memory, 94e9);
  EXPECT_DOUBLE_EQ(cluster->kind(0).flops, 989e12);
  EXPECT_EQ(cluster->devices(), 8);
  EXPECT_EQ(cluster->machines[0].name, "machine-0");
  // A single machine needs no network.
  EXPECT_GT(cluster->machines[0].network_bandwidth, 0);
}

TEST(ClusterFile, BadFilesNameLineKeyAndWhatWasExpected) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"", "c.toml: expected at least one [[machine]]"},
      {"[[machine]]\ndevice = \"A100-8\"\n",
       "c.toml:2: machine.0.device: unknown device \"A100-8\"; did you mean \"A100-80\"?"},
      {"[[machine]]\ndevice = \"H1000\"\n", "did you mean \"H100\"?"},
      {"[[machine]]\ndevice = \"gaudi\"\n", "known are V100-16, "},
      {"[[machine]]\ndevice = \"own\"\nmemory_gb = 5\nhost_gb_s = 1\n",
       "A device of your own also needs tflops_bf16, memory_gb_s, link_gb_s"},
      {"[[machine]]\ndevices = 8\n", "c.toml:2: machine.0.device is missing: expected the name of a device"},
      {"[[machine]]\ndevice = \"H100\"\n[[machine]]\n", "c.toml:3: [[machine]] number 1 is empty"},
      {"[[machine]]\ndevice = \"H100\"\ncount = 2\n", "c.toml:2: machine.0.network_gb_s is missing"},
      {"[[machine]]\ndevice = \"H100\"\nnetwork_gb_s = 5\n[[machine]]\ndevice = \"H100\"\n",
       "c.toml:5: machine.1.network_gb_s is missing"},
      {"[[machine]]\ndevcie = \"H100\"\n",
       "c.toml:2: unknown key machine.0.devcie; did you mean machine.device?"},
      {"[machine]\ndevice = \"H100\"\n", "c.toml:2: machine.device: expected a table [[machine]]"},
      {"[[machine]]\ndevice = \"H100\"\nmemory_gb = 0\n",
       "c.toml:3: machine.0.memory_gb: expected a number greater than 0, found 0"},
      {"[[machine]]\ndevice = \"H100\"\nmemory_gb = \"80\"\n",
       "expected a number greater than 0, found \"80\""},
      {"[[machine]]\ndevice = \"H100\"\nmemory_gb = inf\n", "found inf"},
      {"[[machine]]\ndevice = \"H100\"\ndevices = 0\n",
       "machine.0.devices: expected an integer from 1 to 4096"},
      {"[[machine]]\ndevice = \"H100\"\ncount = 1000000\nnetwork_gb_s = 5\n",
       "c.toml:2: machine.0: expected at most 1048576 devices in all"},
      {"[[machine]]\ndevice = \"H100\"\ncontext_gb = 90\n",
       "context_gb = 90 leaves nothing of the device's 80 GB"},
      {"[network]\nlatency_us = -1\n",
       "c.toml:2: network.latency_us: expected a number of at least 0, found -1"},
      {"[network]\nlatency = 1\n", "c.toml:2: unknown key network.latency; did you mean network.latency_us?"},
      {"[[machine]\n", "c.toml:1: "},
  };
  for (const auto& c : cases) {
    const auto cluster = parse_cluster(c.text, "c.toml");
    ASSERT_FALSE(cluster) << c.text;
    EXPECT_THAT(cluster.error().message, HasSubstr(c.message));
  }
  EXPECT_THAT(read_cluster("/nowhere/c.toml").error().message, HasSubstr("/nowhere/c.toml: cannot open"));
}

TEST(ClusterFile, OverridesAreSetAfterTheFile) {
  const auto cluster = parse_cluster(kText, "c.toml", {{"machine.0.count", "3"}, {"machine.1.devices", "2"}});
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->devices(), 26);
  EXPECT_THAT(
      parse_cluster(kText, "c.toml", {{"machine.0.device", "H10"}}).error().message,
      HasSubstr("--machine.0.device: machine.0.device: unknown device \"H10\"; did you mean \"H100\"?"));
}

TEST(ClusterText, ReadsBackAsTheSameCluster) {
  const auto cluster = parse_cluster(kText, "c.toml");
  ASSERT_TRUE(cluster);
  const std::string text = cluster_text(*cluster);
  const auto again = parse_cluster(text, "d.toml");
  ASSERT_TRUE(again) << again.error().message << text;
  EXPECT_EQ(cluster_text(*again), text);
  EXPECT_THAT(text, HasSubstr("count = 2\n"));  // the two are one [[machine]]
  ASSERT_EQ(again->machines.size(), cluster->machines.size());
  EXPECT_DOUBLE_EQ(again->network_latency, cluster->network_latency);
  for (size_t i = 0; i < again->machines.size(); ++i) {
    const auto& a = again->machines[i];
    const auto& b = cluster->machines[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.devices, b.devices);
    EXPECT_EQ(a.host_memory, b.host_memory);
    EXPECT_EQ(a.network_bandwidth, b.network_bandwidth);
  }
}

TEST(WithDevices, TakesMachinesInOrder) {
  const auto cluster = parse_cluster(kText, "c.toml");
  ASSERT_TRUE(cluster);
  struct Case {
    int32_t devices;
    std::vector<int32_t> each;
  };
  const Case cases[] = {{1, {1}}, {8, {8}}, {12, {8, 4}}, {20, {8, 8, 4}}, {30, {8, 8, 4, 8, 2}}};
  for (const auto& c : cases) {
    const auto other = with_devices(*cluster, c.devices);
    std::vector<int32_t> each;
    for (const auto& machine : other.machines) each.push_back(machine.devices);
    EXPECT_EQ(each, c.each);
    EXPECT_EQ(other.devices(), c.devices);
    EXPECT_EQ(other.network_latency, cluster->network_latency);
  }
}

// Cluster files that people copy.
TEST(ClusterFile, Examples) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(NEREUS_SOURCE_DIR "/examples/clusters")) {
    const auto cluster = read_cluster(entry.path());
    EXPECT_TRUE(cluster) << cluster.error().message;
    ++count;
  }
  EXPECT_GE(count, 4);
}

// The page has every key: it is regenerated by `nereus plan --print-reference`.
TEST(ClusterFile, ThePageHasEveryKey) {
  const auto page = config::read_text_file(NEREUS_SOURCE_DIR "/docs/cluster-files.md");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(*page, HasSubstr(cluster_reference()));
}

}  // namespace
}  // namespace nereus::cluster
