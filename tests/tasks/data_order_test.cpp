#include "nereus/tasks/data_order.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace nereus::tasks {
namespace {

TEST(DataOrder, EachEpochTakesEachSampleOnceInAnotherOrder) {
  const DataOrder order(10, 42);
  std::set<std::vector<uint64_t>> epochs;
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    std::vector<uint64_t> taken;
    for (uint64_t i = 0; i < 10; ++i) {
      EXPECT_EQ(order.epoch(epoch * 10 + i), epoch);
      taken.push_back(order.index(epoch * 10 + i));
    }
    EXPECT_EQ(std::set<uint64_t>(taken.begin(), taken.end()).size(), 10U);
    epochs.insert(taken);
  }
  EXPECT_EQ(epochs.size(), 4U);
}

TEST(DataOrder, ResumingNeedsTheCursorOnly) {
  const DataOrder first(1000, 5), again(1000, 5), other(1000, 6);
  size_t different = 0;
  for (uint64_t cursor : {0, 1, 999, 1000, 123456}) {
    EXPECT_EQ(first.index(cursor), again.index(cursor));
    different += first.index(cursor) != other.index(cursor);
  }
  EXPECT_GT(different, 0U) << "the seed matters";
}

TEST(DataOrder, UnshuffledIsTheOrderOfTheFile) {
  const DataOrder order(3, 42, false);
  for (uint64_t cursor = 0; cursor < 7; ++cursor) EXPECT_EQ(order.index(cursor), cursor % 3);
}

}  // namespace
}  // namespace nereus::tasks
