#include "nereus/rl/loss_sums.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/rl/golden.h"

namespace nereus::rl {
namespace {

using Metrics = std::map<std::string, double>;

Metrics named_metrics(const LossSums& sums) {
  Metrics result;
  for (const auto& [name, value] : metrics(sums)) result[name] = value;
  return result;
}

TokenBatch two_sequences() {
  TokenBatch batch;
  batch.logprob = tensor<double>({-1.0, -1.0, -1.0, -1.0, -1.0}, at::kDouble).set_requires_grad(true);
  // Ratios e^0.5 (high), 1, 1 in a sequence of A > 0; e^-0.5 (low), 1 in one of A < 0.
  batch.old_logprob = tensor<double>({-1.5, -1.0, -1.0, -0.5, -1.0}, at::kDouble);
  batch.sampler_logprob = tensor<double>({-1.5, -1.1, -1.0, -0.5, -0.8}, at::kDouble);
  batch.entropy = tensor<double>({1.0, 2.0, 3.0, 4.0, 5.0}, at::kDouble);
  batch.advantage = tensor<double>({1.0, -1.0}, at::kDouble);
  batch.sequence = tensor<int64_t>({0, 0, 0, 1, 1}, at::kLong);
  batch.mask = tensor<double>({1, 1, 1, 1, 1}, at::kDouble);
  return batch;
}

TEST(LossSums, CountsWhatTheLossDid) {
  LossOptions options;
  options.correction = usual_correction(CorrectionMode::token_truncate);
  const Metrics found = named_metrics(policy_loss(two_sequences(), {.active_tokens = 5}, options).sums);
  EXPECT_NEAR(found.at("clip_ratio/high_mean"), 0.2, 1e-12);
  EXPECT_NEAR(found.at("clip_ratio/high_max"), 1.0 / 3, 1e-12);
  EXPECT_NEAR(found.at("clip_ratio/low_mean"), 0.2, 1e-12);
  EXPECT_NEAR(found.at("clip_ratio/low_min"), 0.0, 1e-12);
  EXPECT_NEAR(found.at("clip_ratio/region_mean"), 0.4, 1e-12);
  EXPECT_NEAR(found.at("ratio"), (3 + std::exp(0.5) + std::exp(-0.5)) / 5, 1e-12);
  EXPECT_NEAR(found.at("ratio_max"), std::exp(0.5), 1e-12);
  EXPECT_NEAR(found.at("entropy"), 3.0, 1e-12);
  EXPECT_NEAR(found.at("sampling/logp_difference/mean"), 0.3 / 5, 1e-12);
  EXPECT_NEAR(found.at("sampling/logp_difference/max"), 0.2, 1e-12);
  EXPECT_NEAR(found.at("sampling/importance_ratio/max"), std::exp(0.1), 1e-12);
  EXPECT_NEAR(found.at("sampling/importance_ratio/min"), std::exp(-0.2), 1e-12);
  EXPECT_EQ(found.count("kl"), 0U);
}

TEST(LossSums, ACorrectionBySequenceCountsEachOnce) {
  const auto mean = [](CorrectionMode mode) {
    LossOptions options;
    options.correction = usual_correction(mode);
    return named_metrics(policy_loss(two_sequences(), {.active_tokens = 5}, options).sums)
        .at("sampling/importance_ratio/mean");
  };
  EXPECT_NEAR(mean(CorrectionMode::token_truncate), (3 + std::exp(0.1) + std::exp(-0.2)) / 5, 1e-12);
  EXPECT_NEAR(mean(CorrectionMode::sequence_mask), (std::exp(0.1) + std::exp(-0.2)) / 2, 1e-12);
}

TEST(LossSums, MicroBatchesAddUpToTheBatch) {
  const Json json = golden().at("batches").at("plain");
  LossOptions options;
  options.beta = 0.04;
  options.off_policy_threshold = 0.05;
  const GlobalCounts counts{.active_tokens = 21};
  LossSums parts;
  parts += policy_loss(batch_of(json, 0, 2), counts, options).sums;
  parts += policy_loss(batch_of(json, 2, 3), counts, options).sums;
  parts += policy_loss(batch_of(json, 3, 5), counts, options).sums;
  const Metrics whole = named_metrics(policy_loss(batch_of(json, 0, 5), counts, options).sums);
  for (const auto& [name, value] : named_metrics(parts)) EXPECT_NEAR(value, whole.at(name), 1e-12) << name;
}

TEST(LossSums, NothingActiveGivesNumbers) {
  for (const auto& [name, value] : metrics(LossSums{})) EXPECT_EQ(value, 0.0) << name;
}

}  // namespace
}  // namespace nereus::rl
