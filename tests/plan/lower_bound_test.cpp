#include "nereus/plan/lower_bound.h"

#include <gtest/gtest.h>

#include "nereus/plan/combine.h"
#include "nereus/plan/memory.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

/// All stages of a GRPO job on one machine of a given memory.
class Relaxed {
 public:
  explicit Relaxed(double memory, double reward_seconds = 0) : job_(grpo(qwen_half_b())) {
    cluster_.machines[0].kind.memory = memory;
    job_.prompts = 4;
    job_.reward_seconds = reward_seconds;
    const double room = memory * job_.utilization - a100().context;
    const Calibration calibration;
    OptionMaker maker(job_, calibration);
    for (const ModelStage what : model_stages(job_)) {
      std::vector<Option>& options = options_.emplace_back();
      for (const int32_t tp : {1, 2}) {
        for (Option& option : maker.options_on(what, *grids_.find(tp, 1, 1000), room))
          options.push_back(std::move(option));
      }
    }
    for (size_t i = 0; i < options_.size(); ++i) {
      choices_.push_back({model_stages(job_)[i], {}, (1U << i) - 1});
      for (const Option& option : options_[i]) choices_.back().options.push_back(&option);
    }
    room_ = 2 * room;
  }

  LowerBound bound() const { return {choices_, job_, room_}; }

  /// Every combination that fits, as its seconds and its bound.
  std::vector<std::pair<double, double>> all() const {
    const LowerBound bound = this->bound();
    std::vector<std::pair<double, double>> result;
    for (size_t a = 0; a < options_[0].size(); ++a) {
      for (size_t b = 0; b < options_[1].size(); ++b) {
        for (size_t c = 0; c < options_[2].size(); ++c) {
          const Plan plan{
              {placement_of(options_[0][a]), placement_of(options_[1][b]), placement_of(options_[2][c])}};
          if (!fits(cluster_, job_, plan)) continue;
          const auto beyond = bound.beyond(0, a) + bound.beyond(1, b) + bound.beyond(2, c);
          result.emplace_back(predict(cluster_, job_, plan, {}).total, bound.seconds(beyond));
        }
      }
    }
    return result;
  }

 private:
  cluster::Cluster cluster_ = machines_of(a100(), 1, 2);
  Job job_;
  GridSet grids_{cluster_, {0, 1}};
  std::vector<std::vector<Option>> options_;
  std::vector<Choices> choices_;
  double room_ = 0;
};

TEST(LowerBound, NoCombinationIsFaster) {
  for (const double memory : {9e9, 12e9, 16e9, 80e9}) {
    for (const double reward : {0.0, 1.0, 100.0}) {
      const auto all = Relaxed(memory, reward).all();
      ASSERT_GT(all.size(), 10) << memory;
      for (const auto& [seconds, bound] : all)
        ASSERT_LE(bound, seconds * (1 + 1e-9)) << memory << " " << reward;
    }
  }
}

TEST(LowerBound, TightMemoryRaisesIt) {
  const LowerBound roomy = Relaxed(80e9).bound(), tight = Relaxed(9e9).bound();
  EXPECT_GT(tight.seconds({}), roomy.seconds({}));
  // Where all fits the cheapest options are the fastest, and memory has no price.
  EXPECT_DOUBLE_EQ(roomy.seconds({}), roomy.seconds({0, -1e9, -1e9, -1e9}));
}

}  // namespace
}  // namespace nereus::plan
