#pragma once

#include <cstdint>

#include "nereus/plan/job.h"
#include "nereus/plan/plan.h"

namespace nereus::plan {

/// Tokens that KV blocks hold; every sequence is rounded up to one.
inline constexpr int64_t kBlockTokens = 16;
/// Tokens of one batch of the generation engine, prompts included.
inline constexpr int64_t kBatchedTokens = 2048;

/// Sequences of one replica in a step (generate, infer) or in a minibatch (train): the fullest replica's.
int64_t sequences_of_replica(const Job& job, const Placement& placement);
/// Micro-batches that those are divided into.
int64_t micro_batches(const Job& job, const Placement& placement);
/// Optimizer steps of one step.
int64_t updates(const Job& job);
/// Tokens of the longest sequence that generation may produce.
int64_t longest_sequence(const Job& job);
/// Tokens rounded up to whole KV blocks.
double in_blocks(double tokens);

/// Sums over a micro-batch of average sequences: tokens, squared lengths, and tokens that get a score or a
/// loss.
struct Work {
  double tokens = 0, squares = 0, scored = 0;

  Work operator*(double times) const { return {tokens * times, squares * times, scored * times}; }
};
Work work_of(const Lengths& lengths, double sequences);
/// Sums of the replica that has the most to train or infer (at a time: of a minibatch): its share of average
/// sequences, as ranks are balanced by length, but no less than the longest sequence of all. `sequence`: the
/// average one.
Work work_of_slowest(const Job& job, const Placement& placement, const Work& sequence);

}  // namespace nereus::plan
