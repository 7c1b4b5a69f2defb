#include "nereus/elastic/loads.h"

#include <gtest/gtest.h>

#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

// Two machines of two A100: links 300 GB/s, host links 25 GB/s, network 200 GB/s a machine.
class LoadsTest : public testing::Test {
 protected:
  cluster::Cluster cluster_ = test::a100_cluster(2, 2);
  Places places_{cluster_};
  Loads loads_{cluster_, places_, 2e9, 4};
};

TEST_F(LoadsTest, Distance) {
  EXPECT_EQ(loads_.distance(0, 0), Distance::same_place);
  EXPECT_EQ(loads_.distance(0, 1), Distance::same_machine);
  EXPECT_EQ(loads_.distance(places_.host(0), 1), Distance::same_machine);
  EXPECT_EQ(loads_.distance(1, 2), Distance::remote);
  EXPECT_EQ(loads_.distance(places_.checkpoint(), 2), Distance::remote);
}

TEST_F(LoadsTest, EachEndpointEachWay) {
  loads_.add(0, 1, 30'000'000'000, 1);
  EXPECT_NEAR(loads_.busiest(), 0.1, 1e-9);
  loads_.add(1, 0, 30'000'000'000, 1);  // the other way, at the same time
  EXPECT_NEAR(loads_.busiest(), 0.1, 1e-9);
  loads_.add(0, 2, 5'000'000'000, 1);
  EXPECT_NEAR(loads_.busiest(), 0.2, 1e-9);
  EXPECT_EQ(loads_.busiest_name(), "the host link of device 0, out");
  EXPECT_NEAR(loads_.entering(2), 0.2, 1e-9);
  EXPECT_EQ(loads_.entering(0), 0);
  loads_.add(places_.checkpoint(), 3, 1'000'000'000, 1);
  EXPECT_NEAR(loads_.busiest(), 0.5, 1e-9);
  EXPECT_EQ(loads_.busiest_name(), "the checkpoint, read by machine 1");
}

TEST_F(LoadsTest, ManyDevicesShareTheNetwork) {
  cluster::Cluster cluster = test::a100_cluster(2, 16);
  const Places places(cluster);
  Loads loads(cluster, places, 2e9, 4);
  for (int32_t i = 0; i < 16; ++i) loads.add(i, 16 + i, 10'000'000'000, 1);
  EXPECT_NEAR(loads.busiest(), 16 * 10e9 / 200e9, 1e-9);
  EXPECT_EQ(loads.busiest_name(), "the network of machine 0, out");
}

TEST_F(LoadsTest, LatencyHidesBehindMessagesInFlight) {
  loads_.add(0, 2, 25'000'000, 8);
  EXPECT_NEAR(loads_.busiest(), 0.001, 1e-9);
  EXPECT_NEAR(loads_.busiest_with_latency(), 0.001 + 8 * 2e-5 / 4, 1e-9);
}

TEST_F(LoadsTest, SourcesAreComparedByWhatTheySend) {
  EXPECT_EQ(loads_.send_done(0, 1, 300, 0), loads_.send_done(1, 0, 300, 0));
  loads_.add(0, 1, 1'000'000, 1);
  EXPECT_GT(loads_.send_done(0, 1, 300, 0), loads_.send_done(1, 0, 300, 0));
  EXPECT_GT(loads_.send_done(1, 0, 300, 100), loads_.send_done(1, 0, 300, 0))
      << "it still waits for bytes itself";
  EXPECT_NEAR(loads_.alone(0, 2, 25'000'000), 0.001, 1e-9);
}

}  // namespace
}  // namespace nereus::elastic
