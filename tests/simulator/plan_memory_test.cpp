#include "nereus/simulator/plan_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using test::plan_of;
using test::small_cluster;
using test::small_job;

MemoryReport report_of(const cluster::Cluster& cluster, const plan::Job& job, const plan::Plan& plan,
                       double tokens, double fragments = 0) {
  const PlanMemory memory({}, cluster, job, plan);
  return memory.report(std::vector<BatchSize>(plan.placements.size(), {tokens, 4}),
                       std::vector<double>(static_cast<size_t>(cluster.devices()), fragments));
}

TEST(PlanMemory, SharedWeightsCountOnce) {
  const plan::Job job = small_job();
  const auto cluster = small_cluster(1, 2);
  plan::Plan shared = plan_of(job, {2, 1, 1}), apart = shared;
  for (auto& placement : apart.placements)
    if (placement.what.stage != plan::Stage::train) placement.layout = {1, 1, 2};
  // KV is bounded by what all sequences can fill, so the pools are alike.
  const double once = report_of(cluster, job, shared, 100).peaks[0];
  const double parts = report_of(cluster, job, apart, 100).peaks[0];
  const auto size = size_of(job.models.front());
  const double weights = 2 * (22 * size.layer + size.embedding + size.head);
  EXPECT_GT(parts, once + 0.3 * weights);
}

TEST(PlanMemory, GenerationTakesWhatIsLeft) {
  plan::Job job = small_job();
  job.prompts = 4096;  // so that sequences could fill more than there is
  job.utilization = 0.9;
  const auto cluster = small_cluster(1, 2);
  const auto report = report_of(cluster, job, plan_of(job, {2, 1, 1}), 100);
  EXPECT_FALSE(report.full);
  ASSERT_EQ(report.kv_tokens.size(), 2U);
  EXPECT_NEAR(report.peaks[0], 0.9 * 80e9, 1e6);
  EXPECT_GT(report.kv_tokens[0], 1e5);
}

TEST(PlanMemory, WhoRunsOutAndWhere) {
  const plan::Job job = small_job();
  // 1.1 billion parameters trained on one device take 15 GB and more.
  const auto report = report_of(small_cluster(1, 1, 12e9), job, plan_of(job, {1, 1, 1}), 100);
  ASSERT_TRUE(report.full);
  EXPECT_EQ(report.full->stage.stage,
            plan::Stage::generate);  // the earliest: what is trained is there as well
  EXPECT_THAT(report.full->what(),
              testing::AllOf(testing::HasSubstr("device 0"), testing::HasSubstr("12.0 GB")));

  // Room for the state, not for a large micro-batch: only training runs out.
  const auto later = report_of(small_cluster(1, 1, 40e9), job, plan_of(job, {1, 1, 1}), 60000);
  ASSERT_TRUE(later.full);
  EXPECT_NE(later.full->stage.stage, plan::Stage::generate);
}

TEST(PlanMemory, FragmentsCost) {
  const plan::Job job = small_job();
  const auto cluster = small_cluster(1, 1);
  const double none = report_of(cluster, job, plan_of(job, {1, 1, 1}), 8000).peaks[0];
  const double some = report_of(cluster, job, plan_of(job, {1, 1, 1}), 8000, 0.1).peaks[0];
  EXPECT_GT(some, none);
  EXPECT_LT(some, 1.1 * none);
}

}  // namespace
}  // namespace nereus::simulator
