#include <gtest/gtest.h>

#include "nereus/plan/decode.h"
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

Job even(int64_t prompts, int32_t length) {
  Job job = grpo(llama_8b());
  job.prompts = prompts;
  job.completions = 1;
  job.lengths = {.prompt = 512, .responses = {length}, .max_response = length};
  return job;
}

Generation generated(const Job& job, const Layout& layout, int64_t concurrency) {
  const Placement placement = placed({Role::actor, Stage::generate}, layout);
  const Links links = links_of(machines_of(h100(), 8), placement);
  return generate(job, placement, links, concurrency, ideal());
}

TEST(Generation, EqualLengthsAreOneBatch) {
  // 64 sequences of 1,000 tokens: the mean context is 512 + 500.
  const Generation g = generated(even(64, 1000), {1, 1, 1}, 64);
  EXPECT_NEAR(g.decode, 1000 * (15.0096e9 + 64 * 1012 * 131072.0) / 3.35e12, 0.01);
  EXPECT_EQ(g.memory, g.decode);
}

TEST(Generation, AQueueRunsInTurns) {
  const Generation all = generated(even(64, 1000), {1, 1, 1}, 64),
                   half = generated(even(64, 1000), {1, 1, 1}, 32);
  EXPECT_NEAR(half.decode, 2000 * (15.0096e9 + 32 * 1012 * 131072.0) / 3.35e12, 0.01);
  EXPECT_GT(half.decode, all.decode);
}

TEST(Generation, MoreRoomIsNeverMuchSlower) {
  const Job job = grpo(llama_8b());
  double before = 1e9;
  for (const int64_t concurrency : {1, 2, 3, 5, 8, 16, 64, 100, 256, 500, 1000, 1024}) {
    const double now = generated(job, {1, 1, 1}, concurrency).decode;
    EXPECT_LT(now, before * 1.01) << concurrency;
    before = now;
  }
}

TEST(Generation, TheBatchShrinksToTheLongest) {
  Job job = even(2, 0);
  job.lengths = {.prompt = 0, .responses = {100, 1000}, .max_response = 1000};
  const double weights = 15.0096e9 / 3.35e12, kv = 131072.0 / 3.35e12;
  const double expected = 100 * (weights + 2 * 50 * kv) + 900 * (weights + 550 * kv);
  EXPECT_NEAR(generated(job, {1, 1, 1}, 2).decode, expected, 1e-3);
}

// However many sequences one that is followed stands for, the longest of all is one of them.
TEST(Generation, ManySequencesKeepTheirTail) {
  Job job = even(2048, 0);
  job.lengths = {.prompt = 0, .responses = std::vector<int32_t>(1999, 10), .max_response = 1000};
  job.lengths.responses.push_back(1000);
  const double weights = 15.0096e9 / 3.35e12;
  EXPECT_GT(generated(job, {1, 1, 1}, 2048).decode, 990 * weights);
  EXPECT_GT(generated(job, {1, 1, 1}, 16).decode, 990 * weights);
}

// More machines, no faster generation: the tail is named as the bound, and scaling out is declined
// [verl 2751].
TEST(Generation, Fault55_MoreReplicasDoNotShortenTheTail) {
  Job job = grpo(llama_8b());
  job.prompts = 16;
  const cluster::Cluster cluster = machines_of(h100(), 16);
  const Placement few = placed({Role::actor, Stage::generate}, {64, 1, 1});
  const Placement many = placed({Role::actor, Stage::generate}, {128, 1, 1});
  const StageTime before = stage_time(cluster, job, few, 50e9, {}),
                  after = stage_time(cluster, job, many, 50e9, {});
  EXPECT_EQ(before.bound, Bound::tail);
  EXPECT_EQ(name_of(before.bound), "tail of lengths");
  EXPECT_NEAR(after.total() / before.total(), 1, 0.03);
  // With many sequences on each replica it is not the tail, and twice the replicas take half the time.
  job.prompts = 8192;
  const StageTime busy = stage_time(cluster, job, few, 50e9, {});
  EXPECT_NE(busy.bound, Bound::tail);
  EXPECT_NEAR(stage_time(cluster, job, many, 50e9, {}).total() / busy.total(), 0.5, 0.1);
}

TEST(Concurrency, SequencesOfMeanLengthThatFit) {
  const Job job = even(1000, 500);
  const Placement placement = placed({Role::actor, Stage::generate}, {1, 1, 1});
  // 512 + 500 tokens are 64 blocks of 16.
  EXPECT_EQ(concurrency_of(job, placement, 131072.0 * 1024 * 10), 10);
  EXPECT_EQ(concurrency_of(job, placement, 131072.0 * 1024 * 10 - 1000), 9);
  EXPECT_EQ(concurrency_of(job, placement, 0), 1);
  EXPECT_EQ(concurrency_of(job, placement, 1e15), 1000);
}

}  // namespace
}  // namespace nereus::plan
