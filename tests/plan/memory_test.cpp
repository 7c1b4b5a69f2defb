#include "nereus/plan/memory.h"

#include <gtest/gtest.h>

#include "nereus/plan/model_size.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

constexpr ModelStage kTrain{Role::actor, Stage::train};
constexpr ModelStage kInfer{Role::actor, Stage::infer};
constexpr ModelStage kGenerate{Role::actor, Stage::generate};

/// Weights, gradients, masters and moments.
double state_of(const Ledger& ledger) {
  return ledger[Component::weights] + ledger[Component::gradients] + ledger[Component::masters] +
         ledger[Component::moments];
}

struct StateCase {
  Layout layout;
  int32_t zero;
  double gradient_bytes;
  double gigabytes;  ///< of the first pipeline stage
};

TEST(Footprint, TrainingStateOfLlama8b) {
  const double n = 8.030261248;
  const StateCase cases[] = {
      // ZeRO-1 with fp32 gradients: n (6 + 12 / D).
      {{8, 1, 1}, 1, 4, 60.2},
      {{4, 1, 2}, 1, 4, 36.1},
      {{2, 1, 4}, 1, 4, 24.1},
      {{2, 2, 2}, 1, 4, 24.1},
      {{8, 4, 2}, 1, 4, 8.5},
      // Plain mixed precision: 18 n. ZeRO-1 with bf16 gradients: n (4 + 12 / D).
      {{8, 1, 1}, 0, 4, 18 * n},
      {{8, 1, 1}, 1, 2, n * (4 + 12.0 / 8)},
      // ZeRO-2 shards the gradients too, ZeRO-3 all.
      {{8, 1, 1}, 2, 4, n * (2 + 16.0 / 8)},
      {{8, 1, 1}, 3, 4, n * 18 / 8},
  };
  for (const StateCase& c : cases) {
    Job job = grpo(llama_8b());
    job.gradient_bytes = c.gradient_bytes;
    Placement placement = placed(kTrain, c.layout);
    placement.zero = c.zero;
    EXPECT_NEAR(state_of(footprint(job, placement, 0).running) / 1e9, c.gigabytes, 0.06)
        << to_string(placement);
  }
}

// Out of memory after the first step, when the optimizer state comes to life: it is counted from the start
// [NeMo-RL 2859].
TEST(Footprint, Fault58_OptimizerStateIsCountedBeforeItExists) {
  const Footprint bytes = footprint(grpo(llama_8b()), placed(kTrain, {8, 1, 1}), 0);
  const double n = 8'030'261'248;
  EXPECT_EQ(bytes.running[Component::masters], 4 * n / 8);
  EXPECT_EQ(bytes.running[Component::moments], 8 * n / 8);
  EXPECT_EQ(bytes.idle[Component::moments], 8 * n / 8);
}

TEST(Footprint, AdaptersAloneHaveGradientsAndMoments) {
  const Job job = grpo(llama_8b(), 32);
  const Ledger ledger = footprint(job, placed(kTrain, {1, 1, 1}), 0).running;
  const double adapter = 32 * adapter_parameters_per_rank(llama_8b());
  EXPECT_EQ(ledger[Component::weights], 2 * (8'030'261'248 + adapter));
  EXPECT_EQ(ledger[Component::gradients], 4 * adapter);
  EXPECT_EQ(ledger[Component::masters], 4 * adapter);
  EXPECT_EQ(ledger[Component::moments], 8 * adapter);
}

TEST(Footprint, WeightsInFp32AreTheirOwnMasters) {
  Job job = grpo(qwen_half_b());
  job.weight_bytes = 4;
  EXPECT_EQ(footprint(job, placed(kTrain, {1, 1, 1}), 0).running[Component::masters], 0);
}

TEST(Footprint, ActivationsOfMicroBatchesInFlight) {
  const Job job = grpo(llama_8b());
  const double tokens = 2 * (512 + 4096);
  Placement placement = placed(kTrain, {1, 4, 2});
  placement.micro_batch = 2;
  const auto activations = [&](int32_t pipeline) {
    return footprint(job, placement, pipeline).running[Component::activations];
  };
  const double layer = tokens * 139'264 / 2;
  EXPECT_EQ(activations(0), 4 * 8 * layer);
  EXPECT_EQ(activations(3), 1 * 8 * layer);
  placement.recompute = true;
  EXPECT_EQ(activations(0), 4 * 8 * tokens * 2 * 4096 / 2 + layer);
}

TEST(Footprint, NoMoreMicroBatchesAreInFlightThanThereAre) {
  Job job = grpo(llama_8b());
  job.prompts = 2;
  job.completions = 1;
  const Placement placement = placed(kTrain, {1, 8, 1});
  EXPECT_EQ(footprint(job, placement, 0).running[Component::activations], 2 * 4 * (512.0 + 4096) * 139'264);
}

// Unchunked logits do not fit: a term of the last stage, chunked [NeMo-RL 2871].
TEST(Footprint, Fault59_LogitsAreATermOfTheLastStage) {
  Job job = grpo(llama_8b());
  const Placement placement = placed(kTrain, {2, 2, 2});
  EXPECT_EQ(footprint(job, placement, 0).running[Component::logits], 0);
  EXPECT_EQ(footprint(job, placement, 1).running[Component::logits], 1024.0 * 128256 / 2 * 10);
  job.logit_chunk = 0;
  EXPECT_EQ(footprint(job, placement, 1).running[Component::logits], 4096.0 * 128256 / 2 * 10);
}

TEST(Footprint, ScoringModelsHaveNoLogits) {
  const Job job = ppo(llama_8b());
  EXPECT_EQ(footprint(job, placed({Role::critic, Stage::train}, {1, 1, 8}), 0).running[Component::logits], 0);
  EXPECT_EQ(footprint(job, placed({Role::reward, Stage::infer}, {1, 1, 8}), 0).running[Component::logits], 0);
}

TEST(Footprint, InferenceHoldsOneLayer) {
  const Job job = grpo(llama_8b());
  const Footprint bytes = footprint(job, placed(kInfer, {1, 1, 1}), 0);
  EXPECT_EQ(bytes.running[Component::activations], (512.0 + 4096) * 139'264);
  EXPECT_EQ(bytes.running[Component::weights], 2 * 8'030'261'248.0);
  EXPECT_EQ(bytes.idle.total(), bytes.running[Component::weights]);
}

TEST(Footprint, GenerationNeedsRoomForTheLongestSequence) {
  const Job job = grpo(llama_8b());
  const Footprint bytes = footprint(job, placed(kGenerate, {1, 1, 1}), 0);
  EXPECT_EQ(bytes.running[Component::kv_pool], (512.0 + 4096) * 131'072);
  EXPECT_EQ(bytes.running[Component::workspace], 2048.0 * 4 * 128256);
  EXPECT_EQ(bytes.idle[Component::kv_pool], 0);
}

TEST(Footprint, GatheredPartsOfZero3) {
  const Job job = grpo(llama_8b());
  Placement placement = placed(kTrain, {8, 1, 1});
  placement.zero = 3;
  const double embedding = 128256.0 * 4096;
  EXPECT_EQ(footprint(job, placement, 0).running[Component::workspace], 2 * (218'112'000 + embedding));
}

TEST(SharesWeights, OnlyWithOneLayoutOnTheSameDevices) {
  const Placement train = placed(kTrain, {4, 1, 2}), infer = placed(kInfer, {4, 1, 2});
  EXPECT_TRUE(shares_weights(train, infer));
  EXPECT_FALSE(shares_weights(train, placed(kInfer, {2, 1, 4})));
  EXPECT_FALSE(shares_weights(train, placed(kInfer, {4, 1, 2}, 8)));
  EXPECT_FALSE(shares_weights(train, placed({Role::critic, Stage::infer}, {4, 1, 2})));
  Placement sharded = train;
  sharded.zero = 3;
  EXPECT_FALSE(shares_weights(sharded, infer));
}

}  // namespace
}  // namespace nereus::plan
