#include "nereus/control/availability.h"

#include <gmock/gmock.h>

namespace nereus::control {
namespace {

TEST(Availability, BeginsWithTheAssumedInterval) {
  Availability availability({.interval = 1000});
  availability.observe(0, 8);
  EXPECT_EQ(availability.seconds_to_change(), 1000);
  EXPECT_EQ(availability.least_devices(), 8);
}

TEST(Availability, LearnsHowOftenDevicesChange) {
  Availability availability({.interval = 1000});
  for (int i = 0; i <= 100; ++i) availability.observe(i * 60, i % 2 ? 8 : 16);
  EXPECT_EQ(availability.changes(), 100);
  EXPECT_NEAR(availability.seconds_to_change(), 60, 15);
}

TEST(Availability, CalmLetsItExpectMoreOfIt) {
  Availability availability({.interval = 1000});
  availability.observe(0, 8);
  availability.observe(9000, 8);
  EXPECT_EQ(availability.seconds_to_change(), 10000);
}

TEST(Availability, PromisesNoReturnAndCountsOnTheLargestLoss) {
  Availability availability;
  availability.observe(0, 64);
  availability.observe(10, 48);
  availability.observe(20, 56);
  EXPECT_EQ(availability.least_devices(), 40);
  availability.observe(30, 8);
  EXPECT_EQ(availability.least_devices(), 0);
}

}  // namespace
}  // namespace nereus::control
