#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "nereus/rl/policy_loss.h"

namespace nereus::rl {
namespace {

TEST(LossOptions, DefaultsAreThoseOfEachAlgorithm) {
  LossOptions options;
  EXPECT_EQ(aggregation_of(options), Aggregation::dapo);
  EXPECT_EQ(epsilon_of(options), 0.2);
  EXPECT_EQ(epsilon_high_of(options), 0.2);
  options.epsilon = 0.1;
  EXPECT_EQ(epsilon_high_of(options), 0.1);
  options.epsilon_high = 0.28;
  EXPECT_EQ(epsilon_high_of(options), 0.28);
  for (LossKind kind : {LossKind::gspo, LossKind::luspo}) {
    options = {.loss = kind};
    EXPECT_EQ(epsilon_of(options), 3e-4);
    EXPECT_EQ(epsilon_high_of(options), 4e-4);
  }
  EXPECT_EQ(aggregation_of({.loss = LossKind::gspo}), Aggregation::grpo);
  EXPECT_EQ(aggregation_of({.loss = LossKind::luspo}), Aggregation::luspo);
  EXPECT_EQ(aggregation_of({.loss = LossKind::cispo}), Aggregation::dapo);
  EXPECT_EQ(aggregation_of({.loss = LossKind::sapo}), Aggregation::grpo);
  EXPECT_EQ(aggregation_of({.loss = LossKind::sapo, .aggregation = Aggregation::dapo}), Aggregation::dapo);
}

TEST(LossOptions, UsualBoundsOfCorrections) {
  EXPECT_EQ(usual_correction(CorrectionMode::token_truncate).max, 3.0);
  EXPECT_EQ(usual_correction(CorrectionMode::token_mask).min, 0.5);
  EXPECT_EQ(usual_correction(CorrectionMode::token_mask).max, 5.0);
  EXPECT_EQ(usual_correction(CorrectionMode::sequence_mask).min, std::nullopt);
  EXPECT_EQ(usual_correction(CorrectionMode::decoupled).max, std::nullopt);
}

TEST(LossOptions, RefusesByKey) {
  struct Case {
    std::string key;
    std::function<void(LossOptions&)> change;
  };
  const std::vector<Case> cases{
      {"epsilon:", [](auto& o) { o.epsilon = 1.5; }},
      {"epsilon:", [](auto& o) { o.epsilon = 0.0; }},
      {"epsilon_high:", [](auto& o) { o.epsilon_high = -0.1; }},
      {"delta:", [](auto& o) { o.delta = 0.9; }},
      {"dual_clip:", [](auto& o) { o.dual_clip = 1.0; }},
      {"cispo_max:", [](auto& o) { o.cispo_max = 0.5; }},
      {"sapo_temperature_pos", [](auto& o) { o.sapo_temperature_pos = 0; }},
      {"vespo_k_pos", [](auto& o) { o.vespo_k_neg = -1; }},
      {"vespo_lambda_pos", [](auto& o) { o.vespo_lambda_pos = 0; }},
      {"beta:", [](auto& o) { o.beta = -1; }},
      {"beta:", [](auto& o) { o.beta = std::numeric_limits<double>::quiet_NaN(); }},
      {"off_policy_threshold:", [](auto& o) { o.off_policy_threshold = 0; }},
      {"entropy_coef:", [](auto& o) { o.entropy_coef = -0.1; }},
      {"correction.min", [](auto& o) { o.correction.min = 4.0; }},
      {"correction.max", [](auto& o) { o.correction.max = 0.0; }},
      {"correction.mode", [](auto& o) { o.loss = LossKind::vespo; }},
  };
  EXPECT_TRUE(validate(LossOptions{}));
  for (const Case& test : cases) {
    LossOptions options;
    test.change(options);
    const Status status = validate(options);
    ASSERT_FALSE(status) << test.key;
    EXPECT_THAT(status.error().message, testing::HasSubstr(test.key));
  }
}

}  // namespace
}  // namespace nereus::rl
