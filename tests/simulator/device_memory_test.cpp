#include "nereus/simulator/device_memory.h"

#include <gtest/gtest.h>

#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using test::plan_of;
using test::small_job;

double parameters() {
  const auto size = size_of({plan::Role::actor, test::small_model(), 0});
  return size.embedding + size.head + 22 * size.layer;
}

const plan::Placement& train(const plan::Plan& plan) {
  return *plan.find({plan::Role::actor, plan::Stage::train});
}

TEST(DeviceMemory, TrainingStateByZero) {
  const plan::Job job = small_job();
  plan::Plan plan = plan_of(job, {4, 1, 1});
  auto& placement = plan.placements.back();
  ASSERT_EQ(placement.what.stage, plan::Stage::train);
  const double n = parameters();
  const auto kept = [&](int32_t zero) {
    placement.zero = zero;
    return rank_memory({}, job, placement, 0, 0, 1).kept / n;
  };
  EXPECT_NEAR(kept(0), 2 + 12, 1e-9);
  EXPECT_NEAR(kept(1), 2 + 12.0 / 4, 1e-9);
  EXPECT_NEAR(kept(2), 2 + 12.0 / 4, 1e-9);
  EXPECT_NEAR(kept(3), 14.0 / 4, 1e-9);
  placement.zero = 1;
  placement.leaves_when_idle = true;
  const auto memory = rank_memory({}, job, placement, 0, 0, 1);
  EXPECT_EQ(memory.kept, 0);
  EXPECT_NEAR(memory.resident / n, 5, 1e-9);
}

TEST(DeviceMemory, ActivationsOfTheMicroBatchesInFlight) {
  const plan::Job job = small_job();
  const plan::Plan plan = plan_of(job, {1, 4, 1});
  WorldOptions world;
  world.activation_ratio = 1;
  const auto saved = [&](int32_t stage, int64_t in_step) {
    return rank_memory(world, job, train(plan), stage, 1000, in_step).transient -
           rank_memory(world, job, train(plan), stage, 0, in_step).transient;
  };
  // 10 h + 2 a d + 4 k d + 6 f bytes of a token and layer, 22 layers as 6, 6, 5 and 5.
  const double each = 10 * 2048 + 2 * 32 * 64 + 4 * 4 * 64 + 6 * 5632;
  EXPECT_NEAR(saved(0, 8), 4 * 6 * 1000 * each, 1);
  EXPECT_NEAR(saved(1, 8), 3 * 6 * 1000 * each, 1);
  EXPECT_NEAR(saved(0, 2), 2 * 6 * 1000 * each, 1);
  // The last stage has logits as well.
  EXPECT_NEAR(saved(3, 8), 5 * 1000 * each + 1000 * 32000.0 * 10, 1);
}

TEST(DeviceMemory, RecomputationKeepsInputs) {
  const plan::Job job = small_job();
  plan::Plan plan = plan_of(job, {1, 1, 1});
  const double whole = rank_memory({}, job, train(plan), 0, 4000, 4).transient;
  plan.placements.back().recompute = true;
  EXPECT_LT(rank_memory({}, job, train(plan), 0, 4000, 4).transient, 0.6 * whole);
}

TEST(DeviceMemory, AdaptersTrainLittle) {
  plan::Job job = small_job();
  job.models.front().lora_rank = 16;
  const plan::Plan plan = plan_of(job, {1, 1, 1});
  const double adapter = 22 * size_of(job.models.front()).adapter;
  const auto memory = rank_memory({}, job, train(plan), 0, 0, 1);
  EXPECT_NEAR(memory.kept, 2 * (parameters() + adapter) + 12 * adapter, 1);
}

TEST(DeviceMemory, KvOfAToken) {
  const plan::Job job = small_job();
  const auto kv = [&](plan::Layout layout) {
    return rank_memory({}, job, plan_of(job, layout).placements.front(), 0, 0, 1).kv_token;
  };
  EXPECT_EQ(kv({1, 1, 1}), 2.0 * 22 * 4 * 64 * 2);
  EXPECT_EQ(kv({1, 2, 2}), 2.0 * 11 * 2 * 64 * 2);
  EXPECT_EQ(kv({1, 1, 8}), 2.0 * 22 * 1 * 64 * 2);  // four heads over eight ranks are copied
}

}  // namespace
}  // namespace nereus::simulator
