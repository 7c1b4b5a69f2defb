#include <gtest/gtest.h>

#include "nereus/plan/model_size.h"
#include "nereus/plan/time.h"
#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

constexpr ModelStage kTrain{Role::actor, Stage::train};
constexpr ModelStage kGenerate{Role::actor, Stage::generate};
constexpr double kBytes = 2 * 8'030'261'248.0;

double sync(const cluster::Cluster& cluster, const Placement& from, const Placement& to, int32_t lora = 0) {
  return sync_time(cluster, grpo(llama_8b(), lora), from, to, {});
}

TEST(SyncTime, NothingMovesInOneLayout) {
  EXPECT_EQ(sync(machines_of(a100(), 1), placed(kTrain, {4, 1, 2}), placed(kGenerate, {4, 1, 2})), 0);
}

TEST(SyncTime, WhatIsThereStays) {
  const cluster::Cluster cluster = machines_of(a100(), 1);
  // Device 0 has its quarter in its half; device 1 has the other half. From quarters to halves one more
  // quarter comes.
  EXPECT_NEAR(sync(cluster, placed(kTrain, {4, 1, 2}), placed(kGenerate, {2, 1, 4})), kBytes / 4 / 300e9,
              1e-3);
  EXPECT_NEAR(sync(cluster, placed(kTrain, {2, 1, 4}), placed(kGenerate, {4, 1, 2})), kBytes / 2 / 300e9,
              2e-2);
}

TEST(SyncTime, OneCopyEntersAMachine) {
  const cluster::Cluster cluster = machines_of(a100(), 2);
  const double seconds = sync(cluster, placed(kTrain, {8, 1, 1}), placed(kGenerate, {8, 1, 1}, 8));
  EXPECT_NEAR(seconds, kBytes / 200e9, 1e-2);
}

TEST(SyncTime, AMachineOfOneDeviceIsEnteredByItsHostLink) {
  cluster::Cluster cluster = machines_of(a100(), 2, 1);
  for (cluster::Machine& machine : cluster.machines) machine.kind.link_bandwidth = 0;
  EXPECT_NEAR(sync(cluster, placed(kTrain, {1, 1, 1}), placed(kGenerate, {1, 1, 1}, 1)), kBytes / 25e9, 1e-3);
}

TEST(SyncTime, AdaptersTravelAlone) {
  const cluster::Cluster cluster = machines_of(a100(), 2);
  const double full = sync(cluster, placed(kTrain, {8, 1, 1}), placed(kGenerate, {8, 1, 1}, 8));
  const double adapter = sync(cluster, placed(kTrain, {8, 1, 1}), placed(kGenerate, {8, 1, 1}, 8), 1);
  EXPECT_LT(adapter, full / 100);
}

}  // namespace
}  // namespace nereus::plan
