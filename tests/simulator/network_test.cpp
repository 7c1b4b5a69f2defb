#include "nereus/simulator/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "nereus/base/random.h"

namespace nereus::simulator {
namespace {

using testing::ElementsAre;

Flow over(std::initializer_list<int32_t> links, double bytes = 1, double limit = 0) {
  return {links, bytes, limit};
}

TEST(FairRates, WorkedByHand) {
  // Links of 10, 6 and 4. Flow 0 crosses 0 and 1, flow 1 crosses 1, flow 2 crosses 0, flow 3 crosses 2.
  // Link 1 binds first: 3 each for flows 0 and 1. Then link 0 has 7 left for flow 2, and flow 3 has 4.
  const auto rates = fair_rates({10, 6, 4}, {over({0, 1}), over({1}), over({0}), over({2})});
  EXPECT_THAT(rates, ElementsAre(3, 3, 7, 4));
}

TEST(FairRates, LimitsAndNoLinks) {
  // A limit of 1 binds before the fair share of 5; what it leaves goes to the other.
  EXPECT_THAT(fair_rates({10}, {over({0}, 1, 1), over({0})}), ElementsAre(1, 9));
  EXPECT_THAT(fair_rates({10}, {over({}), over({}, 1, 2), over({0})}),
              ElementsAre(std::numeric_limits<double>::infinity(), 2, 10));
  EXPECT_TRUE(fair_rates({10}, {}).empty());
}

/// Max-min fairness: every flow crosses a link that is full and on which none is faster (Bertsekas and
/// Gallager).
TEST(FairRates, EveryFlowHasItsBottleneck) {
  RandomStream random(7, 1);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> capacity(1 + random.below(8));
    for (double& c : capacity) c = 1 + 10 * random.uniform();
    std::vector<Flow> flows(1 + random.below(12));
    for (auto& flow : flows)
      for (size_t link = 0; link < capacity.size(); ++link)
        if (random.below(3) == 0 || (link + 1 == capacity.size() && flow.links.empty()))
          flow.links.push_back(static_cast<int32_t>(link));
    const auto rates = fair_rates(capacity, flows);
    std::vector<double> used(capacity.size(), 0), fastest(capacity.size(), 0);
    for (size_t f = 0; f < flows.size(); ++f)
      for (const int32_t link : flows[f].links) {
        used[static_cast<size_t>(link)] += rates[f];
        fastest[static_cast<size_t>(link)] = std::max(fastest[static_cast<size_t>(link)], rates[f]);
      }
    for (size_t link = 0; link < capacity.size(); ++link) EXPECT_LE(used[link], capacity[link] * (1 + 1e-9));
    for (size_t f = 0; f < flows.size(); ++f) {
      const bool bound = std::ranges::any_of(flows[f].links, [&](int32_t l) {
        const auto link = static_cast<size_t>(l);
        return used[link] > capacity[link] * (1 - 1e-9) && rates[f] > fastest[link] * (1 - 1e-9);
      });
      EXPECT_TRUE(bound) << "round " << round << ", flow " << f;
    }
  }
}

TEST(Drain, SharesAnewWhenOneHasFinished) {
  // Two flows of 10 and 30 bytes on a link of 10: 5 each until second 2, then the second alone: 20 more
  // at 10.
  EXPECT_THAT(drain({10}, {over({0}, 10), over({0}, 30)}, 0), ElementsAre(2, 4));
  EXPECT_THAT(drain({10}, {over({0}, 0), over({0}, 30)}, 0), ElementsAre(0, 3));
}

TEST(Drain, BytesAreConserved) {
  RandomStream random(3, 1);
  std::vector<Flow> flows;
  double bytes = 0;
  for (int i = 0; i < 40; ++i) {
    flows.push_back(over({0}, 1 + 100 * random.uniform()));
    bytes += flows.back().bytes;
  }
  // One link is always full, so that the last flow ends when all bytes have passed.
  const auto finish = drain({25}, flows, 0);
  EXPECT_NEAR(*std::ranges::max_element(finish), bytes / 25, 1e-6);
  // Taking near ends together is off by no more than the tolerance at each of them.
  const auto rough = drain({25}, flows, 0.01);
  EXPECT_NEAR(*std::ranges::max_element(rough), bytes / 25, 0.1 * bytes / 25);
}

TEST(Links, WhatAMessageCrosses) {
  cluster::Cluster cluster;
  cluster.machines = {{"a", {"x", 1, 1, 1, 100, 20}, 2, 1, 8}, {"b", {"x", 1, 1, 1, 100, 20}, 2, 1, 8}};
  const Links links(cluster, 0.5, 0.25, 3);
  const auto rate = [&](const Flow& flow) { return fair_rates(links.capacity(), {flow}).front(); };
  EXPECT_EQ(rate(links.flow(0, 1, 1)), 50);  // the link of the machine
  EXPECT_EQ(rate(links.flow(1, 2, 1)), 2);   // the network: 8 of a machine, a quarter of it
  EXPECT_EQ(rate(links.to_host(0, 1)), 10);  // half of 20
  EXPECT_EQ(rate(links.from_storage(3, 1)), 2);
  EXPECT_TRUE(links.flow(1, 1, 1).links.empty());
  // Two from one machine share its network; those of different machines do not.
  EXPECT_THAT(fair_rates(links.capacity(), {links.flow(0, 2, 1), links.flow(1, 3, 1)}), ElementsAre(1, 1));
  EXPECT_THAT(fair_rates(links.capacity(), {links.flow(0, 2, 1), links.flow(2, 0, 1)}), ElementsAre(2, 2));
}

}  // namespace
}  // namespace nereus::simulator
