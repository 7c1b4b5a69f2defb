#include "nereus/control/calibration.h"

#include <gmock/gmock.h>

#include <cmath>

#include "nereus/base/random.h"

namespace nereus::control {
namespace {

using plan::Operation;
using testing::DoubleNear;

void measure(Calibrator& calibrator, const std::string& regime, double factor, int steps,
             double noise = 0.01) {
  RandomStream random(7, std::hash<std::string>{}(regime));
  for (int i = 0; i < steps; ++i) {
    const double analytic = 10 + i % 3;
    calibrator.observe(Operation::train, regime, analytic, factor * analytic * (1 + noise * random.normal()));
    calibrator.end_step();
  }
}

TEST(Calibrator, WithoutMeasurementsEveryFactorIsOne) {
  const Calibrator calibrator;
  EXPECT_EQ(calibrator.factor(Operation::train, "actor/tp4/pp1").value, 1);
  EXPECT_GT(calibrator.factor(Operation::train, "actor/tp4/pp1").deviation, 0.25);
  EXPECT_TRUE(calibrator.calibration({}).factors.empty());
}

TEST(Calibrator, LearnsARegime) {
  Calibrator calibrator;
  measure(calibrator, "actor/tp4/pp1", 1.4, 40);
  const Factor factor = calibrator.factor(Operation::train, "actor/tp4/pp1");
  EXPECT_THAT(factor.value, DoubleNear(1.4, 0.02));
  EXPECT_LT(factor.deviation, 0.02);
  EXPECT_EQ(factor.count, 40);
}

TEST(Calibrator, SplitsWhatDoesNotGrowWithTheWork) {
  Calibrator calibrator;
  for (int i = 0; i < 100; ++i) {
    const double analytic = 5 + i % 10;
    calibrator.observe(Operation::infer, "actor/tp1/pp1", analytic, 4 + 1.2 * analytic);
    calibrator.end_step();
  }
  const plan::Calibration learned = calibrator.calibration({});
  EXPECT_THAT(learned.factor(Operation::infer, "actor/tp1/pp1"), DoubleNear(1.2, 0.02));
  EXPECT_THAT(learned.offset(Operation::infer, "actor/tp1/pp1"), DoubleNear(4, 0.2));
}

TEST(Calibrator, UnseenRegimesTakeThePoolShrunkToOne) {
  Calibrator calibrator;
  measure(calibrator, "actor/tp4/pp1", 1.4, 40);
  const Factor unseen = calibrator.factor(Operation::train, "actor/tp8/pp1");
  EXPECT_GT(unseen.value, 1.25);
  EXPECT_LT(unseen.value, 1.4);
  EXPECT_GT(unseen.deviation, calibrator.factor(Operation::train, "actor/tp4/pp1").deviation);
  // Another operation was never measured.
  EXPECT_EQ(calibrator.factor(Operation::decode, "actor/tp4/pp1").value, 1);
  // The planner sees the same, for roles that were not seen as well.
  const plan::Calibration learned = calibrator.calibration({});
  EXPECT_THAT(learned.factor(Operation::train, "actor/tp8/pp1") * 10 +
                  learned.offset(Operation::train, "actor/tp8/pp1"),
              DoubleNear(10 * unseen.value, 1e-9));
  EXPECT_THAT(learned.factor(Operation::train, "critic/tp8/pp1"), DoubleNear(unseen.value, 1e-9));
  EXPECT_EQ(learned.offset(Operation::train, "critic/tp8/pp1"), 0);
}

// Start-up and tails of a stage are there under every layout: twice the devices do not halve them.
TEST(Calibrator, UnseenRegimesOfARoleHaveItsConstant) {
  Calibrator calibrator;
  for (int i = 0; i < 100; ++i) {
    const double analytic = 5 + i % 10;
    calibrator.observe(Operation::decode, "actor/tp8/pp1", analytic, 4 + 1.2 * analytic);
    calibrator.end_step();
  }
  const plan::Calibration learned = calibrator.calibration({});
  const double seen = learned.factor(Operation::decode, "actor/tp8/pp1") * 5 +
                      learned.offset(Operation::decode, "actor/tp8/pp1");
  const double unseen = learned.factor(Operation::decode, "actor/tp8/pp4") * 5 +
                        learned.offset(Operation::decode, "actor/tp8/pp4");
  EXPECT_THAT(seen, DoubleNear(10, 0.2));
  EXPECT_THAT(unseen, DoubleNear(seen, 0.1 * seen));
}

TEST(Calibrator, ARegimeNotMeasuredForLongReturnsToThePool) {
  Calibrator calibrator;
  measure(calibrator, "actor/tp1/pp1", 1.0, 40);
  const double fresh = calibrator.factor(Operation::train, "actor/tp1/pp1").value;
  // The machine has become slower while another regime ran.
  measure(calibrator, "actor/tp4/pp1", 1.6, 300);
  const double old = calibrator.factor(Operation::train, "actor/tp1/pp1").value;
  EXPECT_THAT(fresh, DoubleNear(1.0, 0.02));
  EXPECT_GT(old, 1.3);
}

TEST(Calibrator, AnOutlierChangesNothing) {
  Calibrator calibrator;
  measure(calibrator, "actor/tp4/pp1", 1.4, 40);
  const double before = calibrator.factor(Operation::train, "actor/tp4/pp1").value;
  EXPECT_FALSE(calibrator.observe(Operation::train, "actor/tp4/pp1", 10, 90));
  EXPECT_THAT(calibrator.factor(Operation::train, "actor/tp4/pp1").value, DoubleNear(before, 0.02));
}

}  // namespace
}  // namespace nereus::control
