#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/cluster/cluster.h"

namespace nereus::cluster {
namespace {

TEST(KnownDevices, FiguresOfTheVendors) {
  struct Case {
    const char* name;
    double memory_gb, tflops, memory_tb_s, link_gb_s;
  };
  const Case cases[] = {
      {"V100-16", 16, 125, 0.9, 150}, {"A100-40", 40, 312, 1.555, 300}, {"A100-80", 80, 312, 2.039, 300},
      {"H100", 80, 989, 3.35, 450},   {"H200", 141, 989, 4.8, 450},     {"B200", 180, 2250, 8, 900},
      {"L40S", 48, 362, 0.864, 25},   {"L4", 24, 121, 0.3, 25},         {"4090", 24, 165, 1.008, 25},
  };
  for (const auto& c : cases) {
    const auto* kind = known_device(c.name);
    ASSERT_NE(kind, nullptr) << c.name;
    EXPECT_EQ(kind->name, c.name);
    EXPECT_DOUBLE_EQ(kind->memory, c.memory_gb * 1e9);
    EXPECT_DOUBLE_EQ(kind->flops, c.tflops * 1e12);
    EXPECT_DOUBLE_EQ(kind->memory_bandwidth, c.memory_tb_s * 1e12);
    EXPECT_DOUBLE_EQ(kind->link_bandwidth, c.link_gb_s * 1e9);
  }
  EXPECT_EQ(known_device("A100"), nullptr);
  EXPECT_EQ(known_device(""), nullptr);
}

TEST(KnownDevices, EveryFigureIsThereAndInItsUnit) {
  const auto names = known_device_names();
  EXPECT_THAT(names, testing::Contains("A100-80"));
  for (const auto& name : names) {
    const auto* kind = known_device(name);
    ASSERT_NE(kind, nullptr) << name;
    EXPECT_GT(kind->memory, 1e10);
    EXPECT_GT(kind->flops, 1e14);
    EXPECT_GT(kind->memory_bandwidth, kind->link_bandwidth);
    EXPECT_GE(kind->link_bandwidth, kind->host_bandwidth);
    EXPECT_GT(kind->host_bandwidth, 1e10);
    EXPECT_LT(kind->context, kind->memory);
  }
}

}  // namespace
}  // namespace nereus::cluster
