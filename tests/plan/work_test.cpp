#include "nereus/plan/work.h"

#include <gtest/gtest.h>

#include "tests/plan/cases.h"

namespace nereus::plan {
namespace {

constexpr ModelStage kTrain{Role::actor, Stage::train};

TEST(Work, SequencesAndMicroBatchesOfTheFullestReplica) {
  Job job = grpo(llama_8b());
  job.prompts = 10;
  job.completions = 10;
  job.minibatches = 4;
  Placement placement = placed(kTrain, {4, 1, 1});
  placement.micro_batch = 2;
  EXPECT_EQ(sequences_of_replica(job, placement), 7);  // 25 on 4
  EXPECT_EQ(micro_batches(job, placement), 4);
  placement.what.stage = Stage::infer;
  EXPECT_EQ(sequences_of_replica(job, placement), 25);
  job.epochs = 3;
  EXPECT_EQ(updates(job), 12);
}

TEST(Work, SumsOfAverageSequences) {
  const Lengths lengths{.prompt = 100, .responses = {100, 300}, .max_response = 300};
  const Work work = work_of(lengths, 2);
  EXPECT_EQ(work.tokens, 600);
  EXPECT_EQ(work.squares, 200 * 200 + 400 * 400);
  EXPECT_EQ(work.scored, 400);
}

TEST(Work, WithoutASampleAllAreOfTheLongestKind) {
  EXPECT_EQ(work_of({.prompt = 100, .responses = {}, .max_response = 300}, 1).tokens, 400);
}

TEST(Work, TheSlowestReplicaHasItsShareOrTheLongestSequence) {
  Job job = grpo(llama_8b());
  job.prompts = 4;
  job.completions = 1;
  job.lengths = {.prompt = 0, .responses = {100, 100, 100, 500}, .max_response = 500};
  const Work average = work_of(job.lengths, 1);
  EXPECT_EQ(work_of_slowest(job, placed(kTrain, {4, 1, 1}), average).tokens, 500);
  EXPECT_EQ(work_of_slowest(job, placed(kTrain, {1, 1, 1}), average).tokens, 800);
}

TEST(Work, WholeBlocks) {
  EXPECT_EQ(in_blocks(1), 16);
  EXPECT_EQ(in_blocks(32), 32);
  EXPECT_EQ(in_blocks(33), 48);
}

}  // namespace
}  // namespace nereus::plan
