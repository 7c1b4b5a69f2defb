#include "nereus/plan/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

using testing::HasSubstr;

constexpr ModelStage kTrain{Role::actor, Stage::train};

/// The families of training on one machine.
class Families : public testing::Test {
 protected:
  void offer(const Job& job) {
    const Calibration calibration;
    OptionMaker maker(job, calibration);
    for (const Grid* grid : grids_.all(job.find(Role::actor)->config, 8)) {
      options_.push_back(maker.options_on(kTrain, *grid, 72e9));
      families_.push_back({kTrain, grid, nullptr});
    }
    for (size_t i = 0; i < families_.size(); ++i) families_[i].options = &options_[i];
  }

  cluster::Cluster cluster_ = machines_of(a100(), 1);
  GridSet grids_{cluster_, {0, 1, 2, 3, 4, 5, 6, 7}};
  std::vector<std::vector<Option>> options_;
  std::vector<Family> families_;
};

TEST_F(Families, WithoutAPlanEachSaysWhatItLacks) {
  const Job job = grpo(llama_70b());
  offer(job);
  const auto rejected = explain(cluster_, job, {}, families_, nullptr, 100);
  EXPECT_EQ(rejected.size(), families_.size());
  for (const Rejection& rejection : rejected) EXPECT_THAT(rejection.reason, HasSubstr("GB short on device"));
  EXPECT_EQ(rejected[0].what, "actor train dp 8 pp 1 tp 1");
}

TEST_F(Families, BesideAPlanTheOthersSayTheirTime) {
  const Job job = grpo(qwen_half_b());
  offer(job);
  const Plan chosen{{placed({Role::actor, Stage::generate}, {8, 1, 1}),
                     placed({Role::actor, Stage::infer}, {8, 1, 1}), placed(kTrain, {8, 1, 1})}};
  const auto rejected = explain(cluster_, job, {}, families_, &chosen, 100);
  EXPECT_EQ(rejected.size(), families_.size() - 1);
  for (const Rejection& rejection : rejected) EXPECT_THAT(rejection.reason, HasSubstr(" s against "));
}

TEST_F(Families, NoMoreThanAskedFor) {
  const Job job = grpo(llama_70b());
  offer(job);
  EXPECT_EQ(explain(cluster_, job, {}, families_, nullptr, 2).size(), 2);
}

}  // namespace
}  // namespace nereus::plan
