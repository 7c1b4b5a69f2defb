#include "nereus/elastic/room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// One device of 100 bytes that holds 80, of which three bundles of 30, 20 and 10 can go.
class RoomTest : public testing::Test {
 protected:
  RoomTest() {
    for (const int64_t bytes : {30, 20, 10}) {
      Bundle bundle;
      bundle.first_release = static_cast<int32_t>(cut_.release.size());
      bundle.last_release = bundle.first_release + 1;
      cut_.release.push_back({0, bytes});
      cut_.fill.push_back({0, bytes});
      bundle.first_fill = bundle.first_release;
      bundle.last_fill = bundle.last_release;
      cut_.bundles.push_back(bundle);
    }
    changes_.push_back({.tensors = {}});
  }
  Room room(bool keep_old = false) {
    return Room(places_, sets_, changes_, cut_, {{80, 0}, {100, 1000}}, keep_old, schedule_);
  }
  Node allocate(int64_t bytes) { return {.action = Action::allocate, .place = 0, .bytes = bytes}; }

  Places places_{test::small_cluster({1}, 100, 1000)};
  PlaceSets sets_;
  std::vector<ModelChange> changes_;
  Cut cut_;
  Schedule schedule_;
};

TEST_F(RoomTest, AllocationsThatFitWaitForNothing) {
  Room room = this->room();
  EXPECT_FALSE(room.enough_for_all());
  EXPECT_TRUE(room.fits(1));
  EXPECT_FALSE(room.fits(0));
  const int32_t node = value_or_throw(room.allocate(allocate(20)));
  EXPECT_THAT(schedule_.graph.predecessors(node), IsEmpty());
  EXPECT_EQ(schedule_.peak[0], 100);
}

TEST_F(RoomTest, OthersWaitForReleasesAndLaterOnesForThem) {
  Room room = this->room();
  room.set_nodes(0, 0, 0);
  room.pend(0);
  const int32_t first = value_or_throw(room.allocate(allocate(40)));
  ASSERT_EQ(schedule_.graph.predecessors(first).size(), 1U);
  const Node& release = schedule_.graph.nodes[static_cast<size_t>(schedule_.graph.predecessors(first)[0])];
  EXPECT_EQ(release.action, Action::release);
  EXPECT_EQ(release.bytes, 30);
  const int32_t second = value_or_throw(room.allocate(allocate(5)));
  EXPECT_THAT(schedule_.graph.predecessors(second), ElementsAre(first)) << "it may not take the other's room";
}

TEST_F(RoomTest, TheSmallestThatSufficesIsStaged) {
  Room room = this->room();
  value_or_throw(room.allocate(allocate(35)));  // 15 short: the bundle of 20
  EXPECT_GE(room.staged(0, 1), 0);
  EXPECT_EQ(room.staged(0, 0), -1);
  EXPECT_EQ(schedule_.staged_bundles, 1);
  value_or_throw(room.allocate(allocate(40)));  // 35 short: the bundle of 30, then that of 10
  EXPECT_EQ(schedule_.staged_bundles, 3);
  const auto none = room.allocate(allocate(40));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("device 0 (machine m0, A100-80): 35 bytes short"));
}

TEST_F(RoomTest, TheRestGoesAfterTheCommit) {
  cut_.create.push_back({0, 7});
  Room room = this->room();
  room.pend(2);
  const int32_t commit = schedule_.graph.add({.action = Action::commit}, {});
  room.release_rest(commit);
  ASSERT_EQ(schedule_.graph.count(), 3);
  EXPECT_THAT(schedule_.graph.predecessors(1), ElementsAre(commit));
  EXPECT_EQ(schedule_.graph.nodes[2].action, Action::create);
  EXPECT_THAT(schedule_.graph.predecessors(2), ElementsAre(1, commit));
}

}  // namespace
}  // namespace nereus::elastic
