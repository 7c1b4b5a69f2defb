#include "nereus/control/outcome.h"

#include <gmock/gmock.h>

namespace nereus::control {
namespace {

void run(Outcome& outcome, double ratio, int steps = 6) {
  outcome.changed(10);
  for (int i = 0; i < steps; ++i) outcome.observe(100, 100 * ratio, i == 0 ? 10 : 0);
}

TEST(Outcome, AKeptPromiseWidensNothing) {
  Outcome outcome;
  run(outcome, 1.01);
  EXPECT_EQ(outcome.widening(), 0);
  EXPECT_EQ(outcome.transition_factor(), 1);
}

TEST(Outcome, AMissWidensTheMarginAndKeptPromisesNarrowIt) {
  Outcome outcome;
  run(outcome, 1.2);
  EXPECT_NEAR(outcome.widening(), 0.1, 1e-9);
  run(outcome, 1.2);
  EXPECT_NEAR(outcome.widening(), 0.2, 1e-9);
  run(outcome, 1.0);
  EXPECT_NEAR(outcome.widening(), 0.1, 1e-9);
  for (int i = 0; i < 5; ++i) run(outcome, 2.0);
  EXPECT_NEAR(outcome.widening(), 0.3, 1e-9);
}

TEST(Outcome, TheStepAfterAChangeIsNotHeldAgainstIt) {
  Outcome outcome;
  outcome.changed(10);
  outcome.observe(100, 300, 10);
  for (int i = 0; i < 5; ++i) outcome.observe(100, 100, 0);
  EXPECT_EQ(outcome.widening(), 0);
}

TEST(Outcome, StepsWithoutAChangeTeachNothing) {
  Outcome outcome;
  for (int i = 0; i < 20; ++i) outcome.observe(100, 150, 0);
  EXPECT_EQ(outcome.widening(), 0);
}

TEST(Outcome, TransitionsThatTakeLongerArePricedHigher) {
  Outcome outcome;
  for (int i = 0; i < 8; ++i) {
    outcome.changed(10 * outcome.transition_factor());
    outcome.observe(100, 100, 20);
  }
  EXPECT_NEAR(outcome.transition_factor(), 2, 0.05);
}

}  // namespace
}  // namespace nereus::control
