#include "nereus/serving/work_queue.h"

#include <gtest/gtest.h>

#include <thread>

namespace nereus::serving {
namespace {

constexpr double kNever = 1e6;  // a wait that ends for another reason, or the test does not

void nothing() {}

TEST(WorkQueue, GivesWorkInItsOrder) {
  WorkQueue queue;
  std::vector<int> done;
  for (int i = 0; i < 3; ++i) queue.push([&done, i] { done.push_back(i); });
  for (const auto& work : queue.take()) work();
  EXPECT_EQ(done, (std::vector{0, 1, 2}));
  EXPECT_TRUE(queue.take().empty());
}

TEST(WorkQueue, WhatIsUrgentWaitsForNothing) {
  WorkQueue queue;
  queue.push(nothing);
  EXPECT_EQ(queue.wait({kNever, kNever}).size(), 1U);
  queue.push_of_burst(nothing);
  queue.push(nothing);
  EXPECT_EQ(queue.wait({kNever, kNever}).size(), 2U);
  queue.push_of_burst(nothing);
  EXPECT_EQ(queue.take().size(), 1U);
}

TEST(WorkQueue, ABurstEndsWhenNoMoreComes) {
  for (const Burst burst : {Burst{}, Burst{1e-4, kNever}, Burst{kNever, 1e-4}}) {
    WorkQueue queue;
    queue.push_of_burst(nothing);
    EXPECT_EQ(queue.wait(burst).size(), 1U);
  }
}

TEST(WorkQueue, ABurstIsGivenWhole) {
  WorkQueue queue;
  queue.push_of_burst(nothing);
  std::jthread rest([&queue] {
    for (int i = 0; i < 30; ++i) queue.push_of_burst(nothing);
    queue.push(nothing);  // which ends it
  });
  EXPECT_EQ(queue.wait({kNever, kNever}).size(), 32U);
}

TEST(WorkQueue, OneThatWaitsLearnsOfTheEnd) {
  WorkQueue queue;
  EXPECT_FALSE(queue.closed());
  std::jthread ending([&queue] { queue.close(); });
  EXPECT_TRUE(queue.wait({kNever, kNever}).empty());
  EXPECT_TRUE(queue.closed());
  WorkQueue another;
  another.push_of_burst(nothing);
  another.close();
  EXPECT_FALSE(another.closed());
  EXPECT_EQ(another.wait({kNever, kNever}).size(), 1U);
  EXPECT_TRUE(another.closed());
}

}  // namespace
}  // namespace nereus::serving
