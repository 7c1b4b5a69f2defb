#include "nereus/simulator/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::simulator {
namespace {

std::vector<double> tokens_of(const std::vector<MicroBatch>& batches) {
  std::vector<double> tokens;
  for (const auto& batch : batches) tokens.push_back(batch.work.tokens);
  return tokens;
}

TEST(Batches, AreDealtLongestFirstBackAndForth) {
  const Batches batches(StepLengths{{1, 1, 1, 1, 1, 1, 1, 1}, {10, 20, 30, 40, 50, 60, 70, 80}});
  const auto& dealt = batches.dealt(1, 2, 2);
  ASSERT_EQ(dealt.size(), 1);
  ASSERT_EQ(dealt[0].size(), 2);
  // 80, 50, 40 and 10 to the first replica, 70, 60, 30 and 20 to the second.
  EXPECT_THAT(tokens_of(dealt[0][0]), testing::ElementsAre(81 + 11, 51 + 41));
  EXPECT_THAT(tokens_of(dealt[0][1]), testing::ElementsAre(71 + 21, 61 + 31));
  EXPECT_EQ(dealt[0][0][0].responses, 90);
  EXPECT_EQ(dealt[0][0][0].work.squares, 81 * 81 + 11 * 11);
}

TEST(Batches, MinibatchesAreTakenInOrder) {
  const Batches batches(StepLengths{{0, 0, 0, 0}, {1, 2, 30, 40}});
  const auto& dealt = batches.dealt(2, 1, 4);
  ASSERT_EQ(dealt.size(), 2);
  EXPECT_THAT(tokens_of(dealt[0][0]), testing::ElementsAre(3));
  EXPECT_THAT(tokens_of(dealt[1][0]), testing::ElementsAre(70));
}

TEST(Batches, SomeReplicasHaveNothingToDo) {
  const Batches batches(StepLengths{{0}, {5}});
  const auto& dealt = batches.dealt(1, 3, 1);
  EXPECT_THAT(tokens_of(dealt[0][0]), testing::ElementsAre(5));
  EXPECT_THAT(tokens_of(dealt[0][2]), testing::ElementsAre(0));
}

TEST(Batches, StagesThatDealAlikeShareIt) {
  const Batches batches(StepLengths{{0, 0}, {5, 6}});
  EXPECT_EQ(&batches.dealt(1, 2, 1), &batches.dealt(1, 2, 1));
  EXPECT_NE(&batches.dealt(1, 2, 1), &batches.dealt(1, 1, 2));
}

}  // namespace
}  // namespace nereus::simulator
