#include "nereus/elastic/places.h"

#include <gtest/gtest.h>

#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

TEST(Places, NumbersDevicesThenHostsThenTheCheckpoint) {
  const Places places(test::small_cluster({2, 3}, 100, 1000));
  EXPECT_EQ(places.devices(), 5);
  EXPECT_EQ(places.count(), 7);
  EXPECT_EQ(places.machine(1), 0);
  EXPECT_EQ(places.machine(2), 1);
  EXPECT_EQ(places.host(1), 6);
  EXPECT_EQ(places.machine(6), 1);
  EXPECT_TRUE(places.is_device(4));
  EXPECT_TRUE(places.is_host(5));
  EXPECT_FALSE(places.is_host(places.checkpoint()));
  EXPECT_EQ(places.capacity(4), 100);
  EXPECT_EQ(places.capacity(5), 1000);
  EXPECT_EQ(places.name(3), "device 3 (machine m1, A100-80)");
  EXPECT_EQ(places.name(5), "the memory of machine m0");
  EXPECT_EQ(places.name(7), "the checkpoint");
}

}  // namespace
}  // namespace nereus::elastic
