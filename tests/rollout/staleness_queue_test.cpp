#include "nereus/rollout/staleness_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

namespace nereus::rollout {
namespace {

using namespace std::chrono_literals;
using Queue = StalenessQueue<int>;

// With max_staleness = 0 nothing is scheduled [trl 5656].
TEST(StalenessQueue, Fault47_MaxStalenessZeroIsOnPolicyAndMakesProgress) {
  Queue queue({.batch = 2, .max_staleness = 0});
  for (int64_t step = 0; step < 5; ++step) {
    EXPECT_TRUE(queue.admit());
    EXPECT_TRUE(queue.admit());
    EXPECT_FALSE(queue.admit());  // a third would be trained one step late
    queue.push(1, step);
    queue.push(2, step);
    const auto taken = value_or_throw(queue.take(0ms));
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->staleness, (std::vector<int64_t>{0, 0}));
    EXPECT_FALSE(queue.admit());  // it would be trained after the groups that are trained now
    queue.trained(step + 1);
    EXPECT_FALSE(queue.admit());
    queue.published(step + 1);
  }
}

TEST(StalenessQueue, AdmitsNoMoreThanCanBeTrainedInTime) {
  Queue queue({.batch = 4, .max_staleness = 2});
  int admitted = 0;
  while (queue.admit()) ++admitted;
  EXPECT_EQ(admitted, 3 * 4);
  // Steps are trained but nothing is published: no more is admitted than before.
  for (int i = 0; i < 4; ++i) queue.push(i, 0);
  ASSERT_TRUE(value_or_throw(queue.take(0ms)));
  EXPECT_FALSE(queue.admit());
  queue.trained(1);
  EXPECT_FALSE(queue.admit());
  queue.published(1);
  admitted = 0;
  while (queue.admit()) ++admitted;
  EXPECT_EQ(admitted, 4);
}

TEST(StalenessQueue, StaleGroupsAreDroppedAndHandedBack) {
  Queue queue({.batch = 2, .max_staleness = 1});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(queue.admit());
  queue.push(10, 0);  // one that lagged behind the others
  for (const int64_t version : {1, 2}) queue.trained(version), queue.published(version);
  queue.push(11, 1);
  queue.push(12, 2);
  const auto taken = value_or_throw(queue.take(0ms));
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->groups, (std::vector<int>{11, 12}));
  EXPECT_EQ(taken->stale, (std::vector<int>{10}));
  EXPECT_EQ(taken->staleness, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(queue.counts().dropped, 1);
}

TEST(StalenessQueue, AGroupThatTookLongIsTrainedBeforeNewerOnes) {
  Queue queue({.batch = 2, .max_staleness = 2});
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(queue.admit());
  for (const int64_t version : {1, 2}) queue.trained(version), queue.published(version);
  queue.push(20, 2);
  queue.push(10, 1);
  queue.push(21, 2);
  queue.push(0, 0);  // in the order in which they end, it would be dropped
  queue.push(11, 1);
  EXPECT_EQ(value_or_throw(queue.take(0ms))->groups, (std::vector<int>{0, 10}));
  queue.trained(3);
  const auto taken = value_or_throw(queue.take(0ms));
  EXPECT_EQ(taken->groups, (std::vector<int>{11, 20}));
  EXPECT_EQ(taken->staleness, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(queue.counts().dropped, 0);
}

// An empty queue yields an empty batch [trl 5751].
TEST(StalenessQueue, Fault46_AnEmptyQueueWaitsAndThenSaysSo) {
  Queue queue({.batch = 2, .max_staleness = 1});
  ASSERT_TRUE(queue.admit());
  ASSERT_TRUE(queue.admit());
  queue.push(1, 0);
  const auto nothing = value_or_throw(queue.take(20ms));
  EXPECT_FALSE(nothing);
  EXPECT_EQ(queue.counts().queued, 1);
  EXPECT_EQ(queue.counts().running, 1);
  std::thread late([&] {
    std::this_thread::sleep_for(20ms);
    queue.push(2, 0);
  });
  EXPECT_TRUE(value_or_throw(queue.take(10s)));
  late.join();
}

// Finished groups are thrown away [slime 2238].
TEST(StalenessQueue, Fault41_SurplusGroupsAreKept) {
  Queue queue({.batch = 2, .max_staleness = 2});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(queue.admit());
  for (int i = 0; i < 5; ++i) queue.push(i, 0);
  EXPECT_EQ(value_or_throw(queue.take(0ms))->groups, (std::vector<int>{0, 1}));
  EXPECT_EQ(queue.counts().queued, 3);
  EXPECT_EQ(value_or_throw(queue.take(0ms))->groups, (std::vector<int>{2, 3}));
}

// The trainer waits hours after the generators died [NeMo-RL 3488].
TEST(StalenessQueue, Fault44_AFatalErrorReachesTheTrainerAtOnce) {
  Queue queue({.batch = 1, .max_staleness = 1});
  std::thread dying([&] {
    std::this_thread::sleep_for(10ms);
    queue.fail(Error{"the sampler ran out of memory"});
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto taken = queue.take(60s);
  dying.join();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message, "the sampler ran out of memory");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  EXPECT_FALSE(queue.admit());
}

// Staleness has no bound after a resume [AReaL 1388].
TEST(StalenessQueue, Fault40_ARestoredQueueKeepsTheBound) {
  Queue queue({.batch = 4, .max_staleness = 1});
  queue.trained(7);
  queue.published(7);
  for (int i = 0; i < 5; ++i) queue.restore(i, 6);
  int admitted = 0;
  while (queue.admit()) ++admitted;
  EXPECT_EQ(admitted, 3);  // 8 may be untrained, 5 are there
}

TEST(StalenessQueue, ManySamplersNeverExceedTheBound) {
  constexpr int64_t kBatch = 4, kSteps = 200, kMax = 2;
  Queue queue({.batch = kBatch, .max_staleness = kMax});
  std::atomic<int64_t> policy = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> samplers;
  for (int t = 0; t < 4; ++t)
    samplers.emplace_back([&] {
      while (!stop) {
        const int64_t version = policy;
        if (!queue.admit()) {
          queue.wait_for_room(1ms);
          continue;
        }
        std::this_thread::yield();
        queue.push(1, version);
      }
    });
  int64_t trained = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    const auto taken = value_or_throw(queue.take(10s));
    ASSERT_TRUE(taken);
    for (const int64_t staleness : taken->staleness) EXPECT_LE(staleness, kMax);
    trained += std::accumulate(taken->groups.begin(), taken->groups.end(), int64_t{0});
    queue.trained(step + 1);
    policy = step + 1;
    queue.published(step + 1);
  }
  stop = true;
  queue.close();
  for (auto& sampler : samplers) sampler.join();
  EXPECT_EQ(trained, kBatch * kSteps);
}

}  // namespace
}  // namespace nereus::rollout
