#include <gtest/gtest.h>

#include "nereus/plan/time.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

TEST(Calibration, RegimesFirstThenAllThenOne) {
  Calibration calibration;
  EXPECT_EQ(calibration.factor(Operation::train, "actor/tp4/pp1"), 1);
  calibration.factors[{Operation::train, ""}] = 1.5;
  calibration.factors[{Operation::train, "actor/tp4/pp1"}] = 2;
  EXPECT_EQ(calibration.factor(Operation::train, "actor/tp4/pp1"), 2);
  EXPECT_EQ(calibration.factor(Operation::train, "actor/tp2/pp1"), 1.5);
  EXPECT_EQ(calibration.factor(Operation::infer, "actor/tp2/pp1"), 1);
}

TEST(Calibration, FactorsScaleWholeStagesAndOffsetsAreAdded) {
  const cluster::Cluster cluster = machines_of(h100(), 1);
  const Job job = grpo(llama_8b());
  for (const auto& [stage, operation] :
       {std::pair{Stage::generate, Operation::decode}, std::pair{Stage::infer, Operation::infer},
        std::pair{Stage::train, Operation::train}}) {
    const Placement placement = placed({Role::actor, stage}, {2, 2, 2});
    EXPECT_EQ(regime_of(placement), "actor/tp2/pp2");
    const double before = stage_time(cluster, job, placement, 20e9, {}).total();
    Calibration calibration;
    calibration.factors[{operation, "actor/tp2/pp2"}] = 1.25;
    calibration.offsets[{operation, "actor/tp2/pp2"}] = 3;
    EXPECT_NEAR(stage_time(cluster, job, placement, 20e9, calibration).total(), 1.25 * before + 3, 1e-9);
  }
}

}  // namespace
}  // namespace nereus::plan
