#include "nereus/train/optimizer.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

namespace nereus::train {
namespace {

TEST(LearningRate, FollowsItsSchedule) {
  struct Case {
    Schedule schedule;
    int64_t step;
    double expected;
  };
  const Case cases[] = {
      {Schedule::constant, 0, 0.25},
      {Schedule::constant, 3, 1.0},
      {Schedule::constant, 4, 1.0},
      {Schedule::constant, 99, 1.0},
      {Schedule::linear, 4, 1.0},
      {Schedule::linear, 8, 0.55},
      {Schedule::linear, 12, 0.1},
      {Schedule::linear, 50, 0.1},
      {Schedule::cosine, 4, 1.0},
      {Schedule::cosine, 8, 0.55},
      {Schedule::cosine, 6, 0.1 + 0.9 * 0.5 * (1 + std::sqrt(0.5))},
      {Schedule::cosine, 12, 0.1},
  };
  for (const Case& c : cases) {
    const OptimizerOptions options{
        .learning_rate = 1.0, .schedule = c.schedule, .warmup_steps = 4, .total_steps = 12, .min_ratio = 0.1};
    EXPECT_NEAR(learning_rate(options, c.step), c.expected, 1e-12) << c.step;
  }
}

std::vector<model::Parameter> one_parameter(float value) {
  return {{"w", at::full({3}, value, at::kFloat).requires_grad_()}};
}

// Worked out by hand from Loshchilov & Hutter's algorithm 2.
TEST(AdamW, FirstTwoStepsByHand) {
  auto parameters = one_parameter(1.0F);
  AdamW optimizer(parameters, {.learning_rate = 0.1, .weight_decay = 0.5, .max_grad_norm = 0});
  double w = 1, m = 0, v = 0;
  for (int t = 1; t <= 2; ++t) {
    const double g = t == 1 ? 2.0 : -1.0;
    parameters[0].tensor.mutable_grad() = at::full({3}, g, at::kFloat);
    const auto outcome = optimizer.step();
    EXPECT_NEAR(outcome.grad_norm, std::abs(g) * std::sqrt(3.0), 1e-6);
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    w -=
        0.1 * 0.5 * w + 0.1 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    EXPECT_NEAR(parameters[0].tensor[1].item<double>(), w, 1e-5);
    EXPECT_FALSE(parameters[0].tensor.grad().defined());
  }
  EXPECT_EQ(optimizer.steps(), 2);
}

TEST(AdamW, NonFiniteGradientChangesNothing) {
  auto parameters = one_parameter(1.0F);
  AdamW optimizer(parameters, {.learning_rate = 0.1});
  parameters[0].tensor.mutable_grad() = at::full({3}, std::numeric_limits<float>::infinity(), at::kFloat);
  EXPECT_TRUE(optimizer.step().skipped);
  EXPECT_EQ(parameters[0].tensor[0].item<float>(), 1.0F);
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(AdamW, AbsentGradientCountsAsZero) {
  auto parameters = one_parameter(1.0F);
  AdamW optimizer(parameters, {.learning_rate = 0.1});
  parameters[0].tensor.mutable_grad() = at::full({3}, 1.0, at::kFloat);
  optimizer.step();
  const float after_first = parameters[0].tensor[0].item<float>();
  optimizer.step();  // momentum goes on
  EXPECT_LT(parameters[0].tensor[0].item<float>(), after_first);
}

/// Resident memory of this process in bytes.
int64_t resident() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, pages = 0;
  file >> size >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST(AdamW, StateIsThereBeforeTheFirstStep) {
  // Fault 58: out of memory after the first step, when the optimizer state comes to life [NeMo-RL 2859].
  constexpr int64_t kElements = 16 << 20, kBytes = 4 * kElements, kSlack = kBytes / 4;
  const std::vector<model::Parameter> parameters{
      {"w", at::full({kElements}, 1.0, at::kFloat).requires_grad_()}};
  at::Tensor(parameters[0].tensor).mutable_grad() = at::full({kElements}, 1e-3, at::kFloat);
  const int64_t before = resident();
  AdamW optimizer(parameters, {});
  const int64_t made = resident();
  optimizer.step();
  EXPECT_GT(made - before, 2 * kBytes - kSlack);
  EXPECT_LT(resident() - made, kSlack);
}

}  // namespace
}  // namespace nereus::train
