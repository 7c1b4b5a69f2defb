#include "nereus/plan/passes.h"

#include <gtest/gtest.h>

#include "nereus/plan/model_size.h"
#include "nereus/plan/work.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

constexpr ModelStage kTrain{Role::actor, Stage::train};
constexpr ModelStage kInfer{Role::actor, Stage::infer};

/// 64 sequences of 512 + 1,536 tokens.
Job even() {
  Job job = grpo(llama_8b());
  job.prompts = 64;
  job.completions = 1;
  job.lengths = {.prompt = 512, .responses = {1536}, .max_response = 1536};
  return job;
}

StageTime priced(const Job& job, const Placement& placement, const Calibration& calibration = {}) {
  const Work sequence = work_of(job.lengths, 1);
  const auto sizes = rank_sizes(job.models[0], placement.layout);
  const Links links = links_of(machines_of(a100(), 8), placement);
  const RegimeFactors factors(calibration, regime_of(placement));
  PassTimes times(job, sequence, sizes, links, calibration, factors);
  // Whatever was asked for before.
  Placement before = placement;
  before.zero = placement.zero == 0 ? 3 : 0;
  times.of(before);
  return times.of(placement);
}

/// Calibration without what a layer's kernels lose.
Calibration large() {
  Calibration calibration;
  calibration.layer_overhead = 0;
  return calibration;
}

double forward(double tokens) {
  return 2 * 7.504138240e9 * tokens + 2 * 2048 * tokens * 4096 * 32 - 2 * 128256.0 * 4096 * tokens / 4;
}

TEST(Passes, InferenceIsOneForwardPass) {
  // A quarter of the tokens, the prompts, get no logits.
  const StageTime time = priced(even(), placed(kInfer, {1, 1, 1}), large());
  EXPECT_NEAR(time.compute, forward(64 * 2048) / (312e12 * 0.55), 1e-3 * time.compute);
  EXPECT_EQ(time.communication, 0);
  EXPECT_EQ(time.bubble, 0);
  EXPECT_EQ(time.bound, Bound::compute);
}

TEST(Passes, TrainingIsThreeAndFourWithRecomputation) {
  const Job job = even();
  Placement placement = placed(kTrain, {1, 1, 1});
  const double three = priced(job, placement, large()).compute;
  EXPECT_NEAR(three, 3 * forward(64 * 2048) / (312e12 * 0.45), 1e-3 * three);
  placement.recompute = true;
  EXPECT_NEAR(priced(job, placement, large()).compute, three * 4 / 3, 1e-3 * three);
}

TEST(Passes, AFrozenBaseTakesTwo) {
  Job job = even();
  const double full = priced(job, placed(kTrain, {1, 1, 1})).compute;
  job.models[0].lora_rank = 1;
  EXPECT_NEAR(priced(job, placed(kTrain, {1, 1, 1})).compute, full * 2 / 3, 1e-3 * full);
}

TEST(Passes, MinibatchesAndEpochs) {
  Job job = even();
  const Placement placement = placed(kTrain, {2, 1, 1});
  const StageTime once = priced(job, placement);
  job.minibatches = 4;
  job.epochs = 2;
  const StageTime more = priced(job, placement);
  EXPECT_NEAR(more.compute, 2 * once.compute, 1e-9);
  EXPECT_NEAR(more.optimizer, 8 * once.optimizer, 1e-9);
}

TEST(Passes, AReplicaTakesNoLessThanTheLongestSequence) {
  Job job = even();
  job.lengths = {.prompt = 0, .responses = {1000, 1000, 1000, 5000}, .max_response = 5000};
  // 2 sequences of 2,000 tokens on average, but one has 5,000 alone.
  const double two = priced(job, placed(kInfer, {32, 1, 1}), large()).compute;
  const double one = priced(job, placed(kInfer, {64, 1, 1}), large()).compute;
  EXPECT_DOUBLE_EQ(one, two);
  // With 8 sequences they even out.
  const double eight = priced(job, placed(kInfer, {8, 1, 1})).compute;
  EXPECT_NEAR(priced(job, placed(kInfer, {4, 1, 1})).compute, 2 * eight, 1e-9);
}

TEST(Passes, TheTensorAxisPaysFourAllReducesALayer) {
  const Job job = even();
  const StageTime time = priced(job, placed(kTrain, {1, 1, 8}));
  const double each = all_reduce({300e9, 5e-6}, 8, 2.0 * 2048 * 4096);
  EXPECT_NEAR(time.communication, 64 * 4 * 32 * each, 1e-9);
}

TEST(Passes, APipelineFillsOnceAMinibatch) {
  const Job job = even();
  const StageTime time = priced(job, placed(kTrain, {1, 4, 1}));
  // Sum of stages + (m - 1) * the slowest: three stages' time are bubble.
  EXPECT_NEAR(time.bubble, 3 * time.compute / 64, 0.25 * time.bubble);
  EXPECT_GT(time.bubble, 0);
  Placement larger = placed(kTrain, {1, 4, 1});
  larger.micro_batch = 8;
  EXPECT_NEAR(priced(job, larger).bubble, 8 * time.bubble, 0.02 * 8 * time.bubble);
}

TEST(Passes, AxesThatLeaveTheMachinePayTheNetwork) {
  const Job job = even();
  const double inside = priced(job, placed(kTrain, {1, 1, 8})).communication;
  const double outside = priced(job, placed(kTrain, {1, 1, 16})).communication;
  EXPECT_GT(outside, inside);
}

TEST(Passes, ShardedWeightsAreGatheredForEveryMicroBatch) {
  const Job job = even();
  Placement placement = placed(kTrain, {8, 1, 1});
  const StageTime one = priced(job, placement);
  placement.zero = 3;
  EXPECT_GT(priced(job, placement).communication, one.communication);
}

TEST(Passes, TheOptimizerReadsAndWritesThirtyBytesAParameter) {
  const StageTime time = priced(even(), placed(kTrain, {8, 1, 1}));
  EXPECT_NEAR(time.optimizer, 30 * 8.030261248e9 / 8 / (2.0e12 * 0.75), 1e-6);
}

// Gradients travel beside the last backward pass; weights can only be gathered after the optimizer.
TEST(Passes, TheDataAxisIsHiddenButForTheGather) {
  const Job job = even();
  const Placement placement = placed(kTrain, {8, 1, 1});
  const double bytes = 8.030261248e9;
  const double reduce = all_gather({300e9, 5e-6}, 8, 4 * bytes),
               gather = all_gather({300e9, 5e-6}, 8, 2 * bytes);
  EXPECT_NEAR(priced(job, placement).communication, (Calibration{}.overlap_slowdown - 1) * reduce + gather,
              1e-9);
}

// The same tokens in more micro-batches take longer, the more the smaller the tensor axis makes them.
TEST(Passes, SmallPassesAreInefficient) {
  const Job job = even();
  Placement placement = placed(kTrain, {1, 1, 8});
  const double many = priced(job, placement).compute;
  placement.micro_batch = 8;
  const double few = priced(job, placement).compute;
  EXPECT_NEAR(many - few, (64 - 8) * 3 * 32 * Calibration{}.layer_overhead, 1e-6);
}

TEST(Passes, TinyBatchesWaitForLaunches) {
  Job job = even();
  job.models[0].config = qwen_half_b();
  job.lengths = {.prompt = 1, .responses = {1}, .max_response = 1};
  const StageTime time = priced(job, placed(kInfer, {1, 1, 1}));
  EXPECT_GE(time.compute, 64 * 24 * Calibration{}.layer_overhead);
}

TEST(Exposed, WhatComputeDoesNotHide) {
  EXPECT_DOUBLE_EQ(exposed(0, 5, 1.3), 0);
  EXPECT_DOUBLE_EQ(exposed(2, 0, 1.3), 2);
  EXPECT_DOUBLE_EQ(exposed(2, 10, 1.3), 0.6);  // both are slowed for two seconds
  EXPECT_DOUBLE_EQ(exposed(10, 2, 1.3), 8.6);
  EXPECT_DOUBLE_EQ(exposed(10, 2, 3.0), 10);  // never more than one after the other
}

}  // namespace
}  // namespace nereus::plan
