#include "nereus/plan/combine.h"

#include <gtest/gtest.h>

#include <limits>

#include "nereus/plan/memory.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// All stages of a job on one machine, one grid each.
class OnOneMachine : public testing::Test {
 protected:
  explicit OnOneMachine(Job job = grpo(llama_8b())) : job_(std::move(job)) {
    const Grid* grid = grids_.find(4, 1, 1000);
    const Calibration calibration;
    OptionMaker maker(job_, calibration);
    for (const ModelStage what : model_stages(job_)) options_.push_back(maker.options_on(what, *grid, 72e9));
    for (size_t i = 0; i < options_.size(); ++i) {
      Choices choices{model_stages(job_)[i], {}, (1U << i) - 1};
      for (const Option& option : options_[i]) choices.options.push_back(&option);
      choices_.push_back(std::move(choices));
    }
  }

  Plan plan_of(const Combination& combination) const {
    Plan plan;
    for (const Option* option : combination.options) plan.placements.push_back(placement_of(*option));
    return plan;
  }

  Job job_;
  cluster::Cluster cluster_ = machines_of(a100(), 1);
  GridSet grids_{cluster_, {0, 1, 2, 3, 4, 5, 6, 7}};
  std::vector<std::vector<Option>> options_;
  std::vector<Choices> choices_;
  Calibration calibration_;
  SyncTimes syncs_;
  Pricing pricing_{cluster_, job_, calibration_, syncs_, [] { return false; }};
};

TEST_F(OnOneMachine, CombinationsFitAndAreAsPredicted) {
  const Combinations found = combine(pricing_, choices_, 3, kInfinite);
  EXPECT_TRUE(found.complete);
  ASSERT_FALSE(found.best.empty());
  double before = 0;
  for (const Combination& combination : found.best) {
    const Plan plan = plan_of(combination);
    EXPECT_TRUE(fits(cluster_, job_, plan));
    EXPECT_NEAR(combination.seconds, predict(cluster_, job_, plan, {}).total, 1e-9 * combination.seconds);
    EXPECT_GE(combination.seconds, before);
    before = combination.seconds;
  }
}

TEST_F(OnOneMachine, OnlyWhatTakesLessThanTheBound) {
  const double best = combine(pricing_, choices_, 1, kInfinite).best[0].seconds;
  EXPECT_TRUE(combine(pricing_, choices_, 1, best).best.empty());
  EXPECT_FALSE(combine(pricing_, choices_, 1, best * 1.001).best.empty());
}

TEST_F(OnOneMachine, AStageWithoutOptionsHasNoCombination) {
  choices_[1].options.clear();
  EXPECT_TRUE(combine(pricing_, choices_, 1, kInfinite).best.empty());
}

TEST_F(OnOneMachine, StopsWhenTimeIsUp) {
  pricing_.expired = [] { return true; };
  choices_[2].options.insert(choices_[2].options.end(), 500, choices_[2].options.front());
  EXPECT_FALSE(combine(pricing_, choices_, 1, kInfinite).complete);
}

}  // namespace
}  // namespace nereus::plan
