#include "nereus/rl/aggregation.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

namespace nereus::rl {
namespace {

// A count that divides: a batch without active tokens has a numerator of 0, and 0 / 1 is 0.
double at_least_one(double count) {
  return std::max(count, 1.0);
}

}  // namespace

void count_completion(GlobalCounts& counts, int64_t active_tokens) {
  counts.active_tokens += static_cast<double>(active_tokens);
  counts.active_sequences += active_tokens > 0 ? 1 : 0;
  counts.sequences += 1;
}

at::Tensor aggregate(const at::Tensor& token_loss, const ActiveBatch& batch, const GlobalCounts& counts,
                     Aggregation aggregation) {
  const at::Tensor masked = token_loss * batch.mask;
  switch (aggregation) {
    case Aggregation::dapo:
      return masked.sum() / at_least_one(counts.active_tokens);
    case Aggregation::grpo: {
      const at::Tensor means = sum_by_sequence(masked, batch) / batch.length.clamp_min(1.0);
      return means.sum() / at_least_one(counts.active_sequences);
    }
    case Aggregation::bnpo:
      return masked.sum() / batch.mask.sum().clamp_min(1.0) / at_least_one(counts.micro_batches);
    case Aggregation::dr_grpo:
      return masked.sum() / at_least_one(counts.sequences * counts.max_completion_length);
    case Aggregation::luspo:
      return masked.sum() / at_least_one(counts.active_sequences);
  }
  return masked.sum();
}

}  // namespace nereus::rl
