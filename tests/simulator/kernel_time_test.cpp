#include "nereus/simulator/kernel_time.h"

#include <gtest/gtest.h>

#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using test::small_cluster;
using test::small_model;

plan::Model model(plan::Role role = plan::Role::actor, int32_t rank = 0) {
  return {role, small_model(), rank};
}

TEST(ModelSize, CountsParameters) {
  const auto size = size_of(model());
  // q and o 2 * 2048 * 2048, k and v 2 * 2048 * 256, gate, up, down 3 * 2048 * 5632, norms 2 * 2048.
  EXPECT_EQ(size.layer, 2.0 * 2048 * 2048 + 2.0 * 2048 * 256 + 3.0 * 2048 * 5632 + 2 * 2048);
  EXPECT_EQ(size.embedding, 32000.0 * 2048);
  EXPECT_EQ(size.head, size.embedding);
  EXPECT_EQ(size_of(model(plan::Role::critic)).head, 2048);
  EXPECT_EQ(size.adapter, 0);
  EXPECT_EQ(size_of(model(plan::Role::actor, 8)).adapter,
            8.0 * (2 * (2048 + 2048) + 2 * (2048 + 256) + 3 * (2048 + 5632)));
}

TEST(KernelTime, EfficiencyGrowsWithTheSizeOfAPass) {
  const WorldOptions world;
  const auto cluster = small_cluster(1, 1);
  const KernelTime kernel(world, cluster.kind(0), model(), 1, 2);
  const auto rate = [&](double tokens) { return tokens / kernel.layer({tokens, 0}, world.train_efficiency); };
  EXPECT_LT(rate(64), 0.5 * rate(1024));
  EXPECT_LT(rate(1024), rate(16384));
  // Large passes near the stated efficiency: 2 FLOP a parameter and token.
  const double ideal = 2 * size_of(model()).products * 1e6 / (300e12 * world.train_efficiency);
  EXPECT_NEAR(kernel.layer({1e6, 0}, world.train_efficiency), ideal, 0.05 * ideal);
  // Four ranks take more than a quarter: each has less to do at once.
  const KernelTime quarter(world, cluster.kind(0), model(), 4, 2);
  EXPECT_GT(4 * quarter.layer({2048, 0}, 0.5), kernel.layer({2048, 0}, 0.5));
}

TEST(KernelTime, DecodingIsBoundByMemoryThenByCompute) {
  const WorldOptions world;
  const auto cluster = small_cluster(1, 1);
  const KernelTime kernel(world, cluster.kind(0), model(), 1, 2);
  // One sequence: the weights are read once.
  const double weights = (22 * size_of(model()).products + size_of(model()).head) * 2;
  const double reading = weights / (2e12 * world.memory_efficiency);
  EXPECT_NEAR(kernel.decode(22, true, 1, 100), reading, 0.03 * reading);
  EXPECT_LT(kernel.decode(22, true, 32, 3200), 1.5 * reading);
  EXPECT_GT(kernel.decode(22, true, 2048, 204800), 4 * reading);
  // 2 (keys and values) * 4 heads * 64 * 2 bytes.
  EXPECT_EQ(kernel.kv_bytes(), 1024);
  EXPECT_EQ(KernelTime(world, cluster.kind(0), model(), 8, 2).kv_bytes(), 256);  // heads are copied
}

}  // namespace
}  // namespace nereus::simulator
