#include "nereus/elastic/route.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

class RouteTest : public testing::Test {
 protected:
  Stream stream(std::vector<int32_t> sources, std::vector<int32_t> wanted, int64_t bytes = int64_t{1} << 28) {
    Stream result;
    result.sources = sets_.add(std::move(sources));
    result.wanted = sets_.add(std::move(wanted));
    result.bytes = bytes;
    return result;
  }
  std::vector<Hop> route(const Stream& stream) {
    std::vector<Hop> hops;
    router_.route(stream, 0, hops);
    return hops;
  }

  cluster::Cluster cluster_ = test::a100_cluster(4, 4);
  Places places_{cluster_};
  PlaceSets sets_;
  Router router_{cluster_, places_, sets_, 2e9, int64_t{16} << 20, 4};
};

TEST_F(RouteTest, NearFirst) {
  const auto hops = route(stream({0, 5, 9}, {6}));
  ASSERT_EQ(hops.size(), 1U);
  EXPECT_EQ(hops[0].source, 5);
  EXPECT_EQ(hops[0].depth, 0);
  EXPECT_EQ(hops[0].parent, -1);
}

TEST_F(RouteTest, ThenTheLeastLoaded) {
  std::map<int32_t, int32_t> sent;
  for (int i = 0; i < 12; ++i) ++sent[route(stream({0, 4, 8}, {12 + i % 4}))[0].source];
  EXPECT_EQ(sent, (std::map<int32_t, int32_t>{{0, 4}, {4, 4}, {8, 4}}));
}

TEST_F(RouteTest, OneCopyEntersAMachineAndFansOut) {
  const auto hops = route(stream({0}, {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  ASSERT_EQ(hops.size(), 12U);
  std::map<int32_t, int32_t> entered;
  std::set<int32_t> has = {0};
  for (size_t i = 0; i < hops.size(); ++i) {
    const Hop& hop = hops[i];
    EXPECT_TRUE(has.contains(hop.source)) << "passed on before it came";
    EXPECT_TRUE(has.insert(hop.target).second) << "came twice";
    if (places_.machine(hop.source) != places_.machine(hop.target)) ++entered[places_.machine(hop.target)];
    if (hop.parent < 0) {
      EXPECT_EQ(hop.source, 0);
    } else {
      EXPECT_LT(hop.parent, static_cast<int32_t>(i));
      EXPECT_EQ(hops[static_cast<size_t>(hop.parent)].target, hop.source);
      EXPECT_EQ(hops[static_cast<size_t>(hop.parent)].depth, hop.depth - 1);
    }
  }
  EXPECT_EQ(entered, (std::map<int32_t, int32_t>{{1, 1}, {2, 1}, {3, 1}}));
}

TEST_F(RouteTest, ReceiversPassOnSoThatNoSourceSendsToAll) {
  for (int i = 0; i < 10; ++i) route(stream({0}, {4, 8, 12}));
  // 10 streams of 1/4 GB to three machines by one host link of 25 GB/s would take 0.32 s from the source.
  EXPECT_LT(router_.loads().busiest(), 0.5 * 30 * (int64_t{1} << 28) / 25e9);
}

TEST_F(RouteTest, EntriesAreSpreadOverAMachinesDevices) {
  std::map<int32_t, int32_t> entries;
  for (int i = 0; i < 8; ++i) {
    for (const Hop& hop : route(stream({i % 4}, {4, 5, 6, 7}))) {
      if (places_.machine(hop.source) == 0) ++entries[hop.target];
    }
  }
  EXPECT_EQ(entries, (std::map<int32_t, int32_t>{{4, 2}, {5, 2}, {6, 2}, {7, 2}}));
}

TEST_F(RouteTest, HostsAndTheCheckpoint) {
  EXPECT_EQ(route(stream({places_.host(1), 0}, {5}))[0].source, places_.host(1));
  const auto hops = route(stream({places_.checkpoint()}, {0, 1}));
  ASSERT_EQ(hops.size(), 2U);
  EXPECT_EQ(hops[0].source, places_.checkpoint());
  EXPECT_EQ(hops[1].source, hops[0].target) << "each machine reads once";
}

TEST_F(RouteTest, NothingWanted) {
  EXPECT_TRUE(route(stream({0}, {})).empty());
}

}  // namespace
}  // namespace nereus::elastic
