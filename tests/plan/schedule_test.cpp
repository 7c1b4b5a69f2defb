#include "nereus/plan/schedule.h"

#include <gtest/gtest.h>

#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

constexpr ModelStage kGenerate{Role::actor, Stage::generate};
constexpr ModelStage kActor{Role::actor, Stage::infer};
constexpr ModelStage kReward{Role::reward, Stage::infer};
constexpr ModelStage kTrain{Role::actor, Stage::train};

TEST(Course, OnSharedDevicesAllTakeTurns) {
  const std::vector<Turn> turns{{kGenerate, 10, 0}, {kActor, 2, 1}, {kReward, 3, 3}, {kTrain, 5, 7}};
  EXPECT_EQ(course(turns, 0, false), 20);
  // Rewards outside the models run beside the inference.
  EXPECT_EQ(course(turns, 4, false), 20);
  EXPECT_EQ(course(turns, 7, false), 22);
}

TEST(Course, WhatSharesNothingRunsSideBySide) {
  EXPECT_EQ(course({{kGenerate, 10, 0}, {kActor, 2, 0}, {kReward, 3, 0}, {kTrain, 5, 0}}, 0, false), 18);
}

TEST(Course, AsynchronousGenerationHasItsOwnStep) {
  const std::vector<Turn> apart{{kGenerate, 10, 0}, {kActor, 2, 0}, {kTrain, 5, 2}};
  EXPECT_EQ(course(apart, 0, false), 17);
  EXPECT_EQ(course(apart, 0, true), 10);
  const std::vector<Turn> shared{{kGenerate, 10, 0}, {kActor, 2, 1}, {kTrain, 5, 3}};
  EXPECT_EQ(course(shared, 0, true), 17);
}

TEST(Conflicts, OfPlacementsWithCommonDevices) {
  const Plan plan{{placed(kGenerate, {4, 1, 1}), placed(kActor, {2, 1, 2}), placed(kReward, {2, 1, 1}, 4),
                   placed(kTrain, {1, 1, 8})}};
  EXPECT_EQ(conflicts_of(plan), (std::vector<uint32_t>{0, 1, 0, 7}));
}

}  // namespace
}  // namespace nereus::plan
