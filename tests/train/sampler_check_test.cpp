#include "nereus/train/sampler_check.h"

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "tests/golden/golden_file.h"

namespace nereus::train {
namespace {

constexpr const char* kMax = "sampling/same_policy/logp_difference/max";

/// A model with an adapter that changes from version to version.
class SamplerCheckTest : public ::testing::Test {
 protected:
  SamplerCheckTest()
      : model_(value_or_throw(model::Transformer::load(
            value_or_throw(checkpoint::Source::open(golden::folder() / "grpo_step" / "model"))))) {
    value_or_throw(model_.add_lora(value_or_throw(
        checkpoint::read_adapter(golden::folder() / "grpo_step" / "adapter", model_.config()))));
  }

  void train() {
    const c10::AutoGradMode no_grad(false);
    for (const auto& parameter : model_.parameters()) at::Tensor(parameter.tensor).add_(0.05);
  }

  /// A group that the policy as it is now sampled, as `version` (and its last token as `last`).
  ScoredGroup sampled(int64_t version, int64_t last) const {
    ScoredGroup scored;
    scored.group.prompt = {1, 2, 3};
    rollout::Completion completion;
    completion.tokens = {4, 5, 6};
    completion.logprobs.resize(3);
    completion.versions = {version, version, last};
    scored.group.completions.push_back(completion);
    const auto batch = pack({&scored.group}, {{0, 0}}, {}).front();
    const auto logprob = policy_.score(batch).logprob;
    for (int64_t i = 0; i < 3; ++i)
      scored.group.completions[0].logprobs[static_cast<size_t>(i)] = logprob[i].item<float>();
    return scored;
  }

  model::Transformer model_;
  Policy policy_{model_, 1.0F, false};
};

TEST_F(SamplerCheckTest, ComparesUnderThePolicyThatSampled) {
  SamplerCheck check(2);
  check.remember(model_.parameters(), 0);
  const auto first = sampled(0, 0), mislabelled = sampled(1, 1), mixed = sampled(0, 1);
  train();
  check.remember(model_.parameters(), 1);
  const auto now = policy_.score(pack({&first.group}, {{0, 0}}, {}).front()).logprob;

  EXPECT_LT(check.compare({first}, policy_, {}).at(kMax), 1e-6);
  EXPECT_NEAR(check.compare({first}, policy_, {}).at("sampling/same_policy/importance_ratio/mean"), 1, 1e-6);
  EXPECT_GT(check.compare({mislabelled}, policy_, {}).at(kMax), 1e-3) << "another policy answered";
  EXPECT_TRUE(check.compare({mixed}, policy_, {}).empty());
  EXPECT_LT(check.compare({mixed, first}, policy_, {}).at(kMax), 1e-6) << "the next one that can be compared";
  // The model is as it was.
  EXPECT_TRUE(now.equal(policy_.score(pack({&first.group}, {{0, 0}}, {}).front()).logprob));

  train();
  check.remember(model_.parameters(), 2);
  EXPECT_TRUE(check.compare({first}, policy_, {}).empty()) << "only two policies are kept";
}

TEST_F(SamplerCheckTest, AResumedTrainerForgetsNewerPolicies) {
  SamplerCheck check(3);
  const auto first = sampled(1, 1);
  check.remember(model_.parameters(), 1);
  train();
  check.remember(model_.parameters(), 2);
  check.remember(model_.parameters(), 1);  // what was loaded is version 1 now
  EXPECT_GT(check.compare({first}, policy_, {}).at(kMax), 1e-3);
}

}  // namespace
}  // namespace nereus::train
