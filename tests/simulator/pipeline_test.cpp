#include "nereus/simulator/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::simulator {
namespace {

using testing::ElementsAre;

PipelineWork alike(size_t micro_batches, size_t stages, StageWork work) {
  PipelineWork all(stages);
  for (size_t i = 0; i < micro_batches * stages; ++i) all.add(work);
  return all;
}

TEST(Pipeline, OneStageIsASum) {
  EXPECT_THAT(one_forward_one_backward(alike(3, 1, {1, 2}), 0), ElementsAre(9));
  EXPECT_DOUBLE_EQ(forward_only(alike(3, 1, {1, 2}), 0), 3);
}

TEST(Pipeline, EvenStagesTakeTheFormula) {
  // (m + P - 1) (f + b) with no hops: the first stage ends last.
  for (const size_t stages : {2, 4})
    for (const size_t count : {1, 4, 9}) {
      const auto ends = one_forward_one_backward(alike(count, stages, {1, 2}), 0);
      EXPECT_DOUBLE_EQ(ends.front(), 3.0 * static_cast<double>(count + stages - 1));
      EXPECT_DOUBLE_EQ(forward_only(alike(count, stages, {1, 2}), 0),
                       static_cast<double>(count + stages - 1));
    }
}

TEST(Pipeline, WorkedByHand) {
  // Two stages, two micro-batches, hops of 1; stage 0 takes 1 and 1, stage 1 takes 2 and 3.
  // Stage 0: F0 0-1, F1 1-2. Stage 1: F0 2-4, B0 4-7, F1 7-9, B1 9-12.
  // Stage 0: B0 8-9, B1 13-14.
  PipelineWork work(2);
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
    work.add({1, 1});
    work.add({2, 3});
  }
  EXPECT_THAT(one_forward_one_backward(work, 1), ElementsAre(14, 12));
}

TEST(Pipeline, UnevenMicroBatchesAreNotTheirMean) {
  // A long micro-batch in the middle holds up both stages.
  const PipelineWork even = alike(3, 2, {2, 2});
  PipelineWork uneven(2);
  for (const double seconds : {1, 4, 1})
    for (int stage = 0; stage < 2; ++stage) uneven.add({seconds, seconds});
  EXPECT_GT(one_forward_one_backward(uneven, 0).front(), one_forward_one_backward(even, 0).front());
}

}  // namespace
}  // namespace nereus::simulator
