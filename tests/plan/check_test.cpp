#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/plan/memory.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

using testing::HasSubstr;

Plan trained_on(Layout layout) {
  return {{placed({Role::actor, Stage::train}, layout)}};
}

TEST(CheckMemory, FitsOrNot) {
  const Job job = grpo(llama_8b());
  struct {
    Layout layout;
    int32_t zero;
    bool fits;
  } const cases[] = {
      {{8, 1, 1}, 3, true},  {{4, 1, 2}, 1, true},  {{1, 1, 8}, 0, true},
      {{8, 1, 1}, 0, false}, {{1, 1, 1}, 1, false}, {{1, 1, 2}, 1, false},
  };
  for (const auto& c : cases) {
    Plan plan = trained_on(c.layout);
    plan.placements[0].zero = c.zero;
    plan.placements[0].recompute = true;
    EXPECT_EQ(check_memory(machines_of(a100(), 1), job, plan).has_value(), c.fits)
        << to_string(plan.placements[0]);
  }
}

TEST(CheckMemory, NamesDeviceComponentShortfallAndRemedy) {
  Job job = grpo(qwen_half_b());
  job.logit_chunk = 0;
  job.lengths.max_response = 32768;
  Plan plan = trained_on({8, 1, 1});
  plan.placements[0].recompute = true;
  plan.placements[0].micro_batch = 2;
  const Status status = check_memory(machines_of(a100(), 1), job, plan);
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message, HasSubstr("GB short on device 0 (A100-80) during actor train: logits"));
  EXPECT_THAT(status.error().message, HasSubstr("chunk the logits"));
}

TEST(CheckMemory, HostMemoryHoldsWhatLeaves) {
  cluster::Cluster cluster = machines_of(a100(), 1);
  cluster.machines[0].host_memory = 32e9;
  Plan plan = trained_on({1, 1, 8});
  plan.placements[0].recompute = true;
  ASSERT_TRUE(check_memory(cluster, grpo(llama_8b()), plan).has_value());
  plan.placements[0].leaves_when_idle = true;
  const Status status = check_memory(cluster, grpo(llama_8b()), plan);
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message, HasSubstr("machine 0 (m0)"));
  EXPECT_THAT(status.error().message, HasSubstr("host memory"));
}

// Long prompts do not fit: the longest sequence that a plan takes is reported [verl 516].
TEST(LongestResponse, Fault50_TheNextLengthDoesNotFit) {
  const cluster::Cluster cluster = machines_of(a100(), 1);
  Job job = grpo(llama_8b());
  Plan plan = trained_on({4, 1, 2});
  plan.placements[0].recompute = true;
  const int64_t longest = longest_response(cluster, job, plan);
  EXPECT_GT(longest, job.lengths.max_response);
  job.lengths.max_response = longest;
  EXPECT_TRUE(check_memory(cluster, job, plan).has_value());
  job.lengths.max_response = longest + 1;
  EXPECT_FALSE(check_memory(cluster, job, plan).has_value());
}

TEST(LongestResponse, ALongerPromptLeavesLess) {
  const cluster::Cluster cluster = machines_of(a100(), 1);
  Job job = grpo(llama_8b());
  Plan plan = trained_on({4, 1, 2});
  plan.placements[0].recompute = true;
  const int64_t before = longest_response(cluster, job, plan);
  job.lengths.prompt += 1000;
  EXPECT_EQ(longest_response(cluster, job, plan), before - 1000);
}

TEST(LongestResponse, NoneWhereTheWeightsDoNotFit) {
  EXPECT_EQ(longest_response(machines_of(a100(), 1), grpo(llama_8b()), trained_on({1, 1, 1})), 0);
}

// A memory calculator, offline [Automodel 1592]: weights, gradients, masters, moments and activations of a
// layout, without a device in sight.
TEST(Calculator, Fault64_EveryComponentOfEveryDevice) {
  Plan plan = trained_on({2, 2, 2});
  plan.placements[0].recompute = true;
  const auto devices = peaks(machines_of(h100(), 1), grpo(llama_8b()), plan);
  ASSERT_EQ(devices.size(), 8);
  for (const DevicePeak& device : devices) {
    for (const Component component : {Component::weights, Component::gradients, Component::masters,
                                      Component::moments, Component::activations, Component::context})
      EXPECT_GT(device.ledger[component], 0) << name_of(component);
  }
  EXPECT_GT(devices[2].ledger[Component::logits], 0);
  EXPECT_EQ(devices[0].ledger[Component::logits], 0);
}

}  // namespace
}  // namespace nereus::plan
