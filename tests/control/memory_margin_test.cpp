#include "nereus/control/memory_margin.h"

#include <gmock/gmock.h>

namespace nereus::control {
namespace {

TEST(MemoryMargin, BeginsWithThePrior) {
  EXPECT_EQ(MemoryMargin({.prior = 0.03}).margin(), 0.03);
}

TEST(MemoryMargin, AnExcessRaisesItAtOnce) {
  MemoryMargin margin;
  margin.observe(100, 106);
  EXPECT_NEAR(margin.margin(), 0.06 * 1.25, 1e-9);
}

TEST(MemoryMargin, NeverFallsInTheStepThatTaughtIt) {
  MemoryMargin margin;
  margin.observe(100, 106);
  for (int i = 0; i < 63; ++i) {
    const double before = margin.margin();
    margin.observe(100, i % 2 ? 90 : 101);
    EXPECT_GE(margin.margin(), 0.98 * before);  // ageing only
  }
}

TEST(MemoryMargin, AgesBackToThePrior) {
  MemoryMargin margin;
  margin.observe(100, 106);
  for (int i = 0; i < 600; ++i) margin.observe(100, 99);
  EXPECT_NEAR(margin.margin(), 0.03, 1e-3);
}

TEST(MemoryMargin, KeepsAnExcessThatReturns) {
  MemoryMargin margin;
  for (int i = 0; i < 300; ++i) margin.observe(100, i % 10 ? 99 : 106);
  EXPECT_GE(margin.margin(), 0.06);
}

}  // namespace
}  // namespace nereus::control
