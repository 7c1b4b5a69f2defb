#include "nereus/rl/policy_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/rl/golden.h"

namespace nereus::rl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "at " << i;
}

void append(std::vector<double>& list, const at::Tensor& leaf) {
  for (double value : numbers(leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf)))
    list.push_back(value);
}

struct Solved {
  double loss = 0;
  std::vector<double> grad, entropy_grad;
};

// The batch as micro-batches that begin at the sequences `cuts`.
Solved solve(const Json& batch, const Json& test, const std::vector<size_t>& cuts,
             at::ScalarType dtype = at::kDouble) {
  Solved result;
  for (size_t i = 0; i < cuts.size(); ++i) {
    const size_t end = i + 1 < cuts.size() ? cuts[i + 1] : batch.at("lengths").size();
    const TokenBatch tokens = batch_of(batch, cuts[i], end, dtype);
    const LossResult part = policy_loss(tokens, counts_of(test.at("counts")), options_of(test.at("options")));
    part.loss.backward();
    result.loss += part.loss.item<double>();
    append(result.grad, tokens.logprob);
    append(result.entropy_grad, tokens.entropy);
  }
  return result;
}

void expect_solved(const Solved& got, const Json& test, double tolerance) {
  SCOPED_TRACE(test.at("name").get<std::string>());
  const double loss = test.at("loss").get<double>();
  EXPECT_NEAR(got.loss, loss, tolerance * (1 + std::abs(loss)));
  expect_near(got.grad, test.at("grad").get<std::vector<double>>(), tolerance);
  expect_near(got.entropy_grad, test.value("entropy_grad", std::vector<double>(got.entropy_grad.size(), 0.0)),
              tolerance);
}

TEST(PolicyLoss, EqualsReferenceWithGradients) {
  const Json file = golden();
  size_t count = 0;
  for (const Json& test : file.at("losses")) {
    const Json& batch = file.at("batches").at(test.at("batch").get<std::string>());
    ASSERT_TRUE(validate(options_of(test.at("options")))) << test.at("name");
    expect_solved(solve(batch, test, {0}), test, 1e-10);
    ++count;
  }
  EXPECT_GE(count, 70U);
}

TEST(PolicyLoss, EqualsReferenceInSinglePrecision) {
  const Json file = golden();
  for (const Json& test : file.at("losses")) {
    const auto name = test.at("batch").get<std::string>();
    // Far ratios reach e^20; whether a near one is clipped may hang on the last digit.
    if (name == "far" || name == "near") continue;
    expect_solved(solve(file.at("batches").at(name), test, {0}, at::kFloat), test, 3e-5);
  }
}

TEST(PolicyLoss, MicroBatchesAddUp) {
  const Json file = golden();
  for (const Json& test : file.at("losses")) {
    if (test.at("options").value("aggregation", "") == "bnpo") continue;  // local by definition
    const Json& batch = file.at("batches").at(test.at("batch").get<std::string>());
    expect_solved(solve(batch, test, {0, 1, batch.at("lengths").size() - 1}), test, 1e-10);
  }
}

TEST(PolicyLoss, LocalBatchAveragesMicroBatches) {
  const Json file = golden();
  const Json& batch = file.at("batches").at("plain");
  LossOptions options;
  options.correction.mode = CorrectionMode::none;
  options.aggregation = Aggregation::bnpo;
  GlobalCounts counts;
  const double first = policy_loss(batch_of(batch, 0, 2), counts, options).loss.item<double>();
  const double second = policy_loss(batch_of(batch, 2, 5), counts, options).loss.item<double>();
  counts.micro_batches = 2;
  const double halved = policy_loss(batch_of(batch, 0, 2), counts, options).loss.item<double>() +
                        policy_loss(batch_of(batch, 2, 5), counts, options).loss.item<double>();
  EXPECT_NEAR(halved, (first + second) / 2, 1e-12);
}

TEST(PolicyLoss, WithoutOldLogProbsTheRatioIsOne) {
  const Json file = golden();
  TokenBatch batch = batch_of(file.at("batches").at("plain"), 0, 5);
  const GlobalCounts counts = counts_of(file.at("losses")[0].at("counts"));
  batch.sampler_logprob.reset();
  batch.old_logprob = batch.logprob.detach();
  const LossResult given = policy_loss(batch, counts, {});
  batch.old_logprob.reset();
  const LossResult absent = policy_loss(batch, counts, {});
  EXPECT_EQ(given.loss.item<double>(), absent.loss.item<double>());
  EXPECT_EQ(absent.sums.ratio_min, 1.0);
  EXPECT_EQ(absent.sums.ratio_max, 1.0);
}

TEST(PolicyLoss, TokenAdvantagesReplaceThoseOfSequences) {
  const Json file = golden();
  TokenBatch batch = batch_of(file.at("batches").at("plain"), 0, 5);
  const GlobalCounts counts = counts_of(file.at("losses")[0].at("counts"));
  const double expected = policy_loss(batch, counts, {}).loss.item<double>();
  batch.token_advantage = batch.advantage.index_select(0, batch.sequence);
  batch.advantage.reset();
  EXPECT_EQ(policy_loss(batch, counts, {}).loss.item<double>(), expected);
}

TEST(PolicyLoss, ANanOfTheSamplerCountsAsOne) {
  const Json file = golden();
  TokenBatch batch = batch_of(file.at("batches").at("plain"), 0, 5);
  const GlobalCounts counts = counts_of(file.at("losses")[0].at("counts"));
  LossOptions options;
  for (CorrectionMode mode : {CorrectionMode::token_truncate, CorrectionMode::sequence_mask}) {
    options.correction = usual_correction(mode);
    options.off_policy_threshold = 0.5;
    batch.sampler_logprob = batch.old_logprob.clone();
    const double expected = policy_loss(batch, counts, options).loss.item<double>();
    batch.sampler_logprob[3] = kNan;
    EXPECT_EQ(policy_loss(batch, counts, options).loss.item<double>(), expected);
  }
}

std::vector<LossOptions> every_kind() {
  std::vector<LossOptions> result;
  for (size_t kind = 0; kind < kLossKinds.size(); ++kind)
    for (size_t aggregation = 0; aggregation < kAggregations.size(); ++aggregation) {
      LossOptions options;
      options.loss = static_cast<LossKind>(kind);
      options.aggregation = static_cast<Aggregation>(aggregation);
      options.correction = usual_correction(CorrectionMode::token_mask);
      options.beta = 0.1;
      options.off_policy_threshold = 0.5;
      options.entropy_coef = 0.01;
      result.push_back(options);
    }
  return result;
}

void expect_zero(const TokenBatch& batch, const GlobalCounts& counts, const LossOptions& options) {
  const LossResult result = policy_loss(batch, counts, options);
  EXPECT_EQ(result.loss.item<double>(), 0.0);
  result.loss.backward();
  ASSERT_TRUE(batch.logprob.grad().defined());
  for (double value : numbers(batch.logprob.grad())) EXPECT_EQ(value, 0.0);
  for (const auto& [name, value] : metrics(result.sums)) EXPECT_TRUE(std::isfinite(value)) << name;
}

// All completions truncated and masked: a finite zero, not NaN [trl 3248].
TEST(PolicyLoss, Fault34_NothingActiveIsExactlyZero) {
  const Json batch = golden().at("batches").at("plain");
  for (const LossOptions& options : every_kind()) {
    TokenBatch tokens = batch_of(batch, 0, 5);
    tokens.mask = at::zeros_like(tokens.mask);
    expect_zero(tokens, {}, options);
    expect_zero(batch_of(batch, 0, 0), {}, options);
  }
}

// Rows that are masked as a whole hold NaN log-probs: neither KL nor loss nor gradient sees them [unsloth-zoo
// 1262].
TEST(PolicyLoss, Fault35_MaskedRowsMayHoldNan) {
  const Json batch = golden().at("batches").at("plain");
  for (const LossOptions& options : every_kind()) {
    TokenBatch tokens = batch_of(batch, 0, 5);
    tokens.mask = at::zeros_like(tokens.mask);
    for (at::Tensor* values : {&tokens.old_logprob, &tokens.ref_logprob, &tokens.sampler_logprob})
      *values = at::full_like(*values, kNan);
    tokens.logprob = at::full_like(tokens.logprob, kNan).set_requires_grad(true);
    expect_zero(tokens, {}, options);
  }
}

TEST(PolicyLoss, Fault35_NanOfOneMaskedRowLeavesTheOthersAlone) {
  const Json file = golden();
  const Json& json = file.at("batches").at("truncated");
  GlobalCounts counts;
  for (int64_t active : {4, 0, 5, 0}) count_completion(counts, active);
  for (const LossOptions& options : every_kind()) {
    const TokenBatch clean = batch_of(json, 0, 4);
    policy_loss(clean, counts, options).loss.backward();
    TokenBatch dirty = batch_of(json, 0, 4);
    dirty.ref_logprob.masked_fill_(dirty.mask.eq(0), kNan);
    dirty.old_logprob.masked_fill_(dirty.mask.eq(0), kNan);
    policy_loss(dirty, counts, options).loss.backward();
    EXPECT_EQ(numbers(dirty.logprob.grad()), numbers(clean.logprob.grad()));
  }
}

// The denominator is counted with the mask of the numerator, truncated completions left out [trl 6369].
TEST(PolicyLoss, Fault33_TruncatedCompletionsLeaveTheDenominator) {
  const Json batch = golden().at("batches").at("truncated");
  GlobalCounts counts;
  for (int64_t active : {4, 0, 5, 0}) count_completion(counts, active);
  EXPECT_EQ(counts.active_tokens, 9);
  EXPECT_EQ(counts.active_sequences, 2);
  EXPECT_EQ(counts.sequences, 4);
  GlobalCounts without;
  for (int64_t active : {4, 5}) count_completion(without, active);
  for (Aggregation aggregation : {Aggregation::dapo, Aggregation::grpo, Aggregation::luspo}) {
    LossOptions options;
    options.aggregation = aggregation;
    const double whole = policy_loss(batch_of(batch, 0, 4), counts, options).loss.item<double>();
    const double parts = policy_loss(batch_of(batch, 0, 1), without, options).loss.item<double>() +
                         policy_loss(batch_of(batch, 2, 3), without, options).loss.item<double>();
    EXPECT_NEAR(whole, parts, 1e-12);
  }
}

// The product over a sequence leaves its bounds as sequences grow: the masked fraction is reported [trl
// 4772].
TEST(PolicyLoss, Fault24_MaskedFractionOfSequenceRatiosIsReported) {
  const int64_t length = 200;
  TokenBatch batch;
  batch.logprob = at::zeros({length + 2}, at::kDouble).set_requires_grad(true);
  batch.old_logprob = at::zeros({length + 2}, at::kDouble);
  batch.sampler_logprob = batch.old_logprob - 0.01;
  batch.advantage = tensor<double>({1.0, 1.0}, at::kDouble);
  std::vector<int64_t> sequence(length, 0);
  sequence.insert(sequence.end(), {1, 1});
  batch.sequence = tensor(sequence, at::kLong);
  batch.mask = at::zeros({length + 2}, at::kDouble) + 1.0;
  const LossResult result = policy_loss(batch, {.active_tokens = length + 2}, {});
  EXPECT_EQ(result.sums.correction_masked, length);
  EXPECT_NEAR(result.sums.weight_max, std::exp(2.0), 1e-9);
  for (const auto& [name, value] : metrics(result.sums)) {
    if (name != "masked/correction") continue;
    EXPECT_NEAR(value, static_cast<double>(length) / (length + 2), 1e-12);
  }
  result.loss.backward();
  EXPECT_EQ(numbers(batch.logprob.grad())[0], 0.0);
  EXPECT_LT(numbers(batch.logprob.grad())[length], 0.0);
}

}  // namespace
}  // namespace nereus::rl
