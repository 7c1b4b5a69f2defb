#include "nereus/plan/decode.h"

#include <gtest/gtest.h>

#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

/// The vendor's bandwidth, without fixed costs.
Calibration ideal() {
  Calibration calibration;
  calibration.memory_efficiency = 1;
  calibration.prefill_efficiency = 1;
  calibration.decode_overhead = 0;
  calibration.sequence_overhead = 0;
  return calibration;
}

TEST(DecodeStep, Llama8bOnAnH100) {
  const Model model{Role::actor, llama_8b(), 0};
  struct {
    double batch, context, milliseconds;
  } const cases[] = {{1, 0, 4.5}, {64, 1024, 7.0}, {256, 2048, 25.0}};
  for (const auto& c : cases) {
    EXPECT_NEAR(1e3 * decode_step(h100(), {450e9, 0}, model, 1, c.batch, c.context, 2, ideal()),
                c.milliseconds, 0.05);
  }
}

TEST(DecodeStep, LargeBatchesAreBoundByCompute) {
  const DecodeCost cost(h100(), {450e9, 0}, {Role::actor, llama_8b(), 0}, {}, 2, ideal());
  EXPECT_GT(cost.step(1, 100).memory, cost.step(1, 100).compute);
  const DecodeStep large = cost.step(2048, 16);
  EXPECT_LT(large.memory, large.compute);
  // 2 N B + 4 B x a d L.
  EXPECT_NEAR(large.compute, (2 * 7.5048e9 + 4.0 * 16 * 4096 * 32) * 2048 / 989e12, 1e-5);
}

TEST(DecodeStep, EverySequenceIsSampledAndScheduled) {
  const Model model{Role::actor, llama_8b(), 0};
  const DecodeCost cost(h100(), {450e9, 0}, model, {}, 2, {});
  EXPECT_NEAR(cost.step(100, 10).overhead - cost.step(20, 10).overhead, 80 * Calibration{}.sequence_overhead,
              1e-12);
}

TEST(DecodeStep, TheTensorAxisDividesAndTalks) {
  const Model model{Role::actor, llama_8b(), 0};
  const DecodeCost one(h100(), {450e9, 5e-6}, model, {1, 1, 1}, 2, ideal());
  const DecodeCost four(h100(), {450e9, 5e-6}, model, {1, 1, 4}, 2, ideal());
  EXPECT_NEAR(four.step(16, 1000).memory * 4, one.step(16, 1000).memory, 1e-9);
  // 64 all-reduces of 16 * 4096 * 2 bytes: two messages each way.
  EXPECT_NEAR(four.step(16, 1000).communication, 64 * 2 * (16 * 4096 * 2 / 450e9 + 5e-6), 1e-9);
}

}  // namespace
}  // namespace nereus::plan
