#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "nereus/rl/token_batch.h"

namespace nereus::rl {

/// How token losses become one number.
enum class Aggregation {
  dapo,     ///< sum / active tokens of the global batch (Yu et al., "DAPO", arXiv:2503.14476)
  grpo,     ///< mean over sequences of the mean over their tokens (Shao et al., arXiv:2402.03300)
  bnpo,     ///< mean over micro-batches of sum / active tokens of the micro-batch
  dr_grpo,  ///< sum / (sequences * max_completion_length) (Liu et al., arXiv:2503.20783); no deviation
            ///< scaling
  luspo,    ///< mean over sequences of the sum over their tokens (arXiv:2602.05261)
};
inline constexpr std::array<std::string_view, 5> kAggregations{"dapo", "grpo", "bnpo", "dr_grpo", "luspo"};

/// Counts of the whole global batch, so that losses and gradients of micro-batches and of ranks simply add
/// up. "Active" is what the mask trains: denominators are counted with the same mask as numerators.
struct GlobalCounts {
  double active_tokens = 0;
  double active_sequences = 0;       ///< with at least one active token (grpo, luspo)
  double sequences = 0;              ///< all (dr_grpo, whose denominator does not depend on the answers)
  double max_completion_length = 0;  ///< as configured; dr_grpo only
  double micro_batches = 1;          ///< over all ranks, those with nothing active left out; bnpo only
  std::optional<double> entropy_threshold = {};  ///< tokens of less entropy are not trained; see entropy.h
  double entropy_tokens = 0;  ///< active tokens at or above it; not read without a threshold
};

/// Adds a completion of which `active_tokens` tokens are trained.
void count_completion(GlobalCounts& counts, int64_t active_tokens);

/// The part of this micro-batch in the batch's loss, a scalar. Nothing active: exactly 0.
at::Tensor aggregate(const at::Tensor& token_loss, const ActiveBatch& batch, const GlobalCounts& counts,
                     Aggregation aggregation);

}  // namespace nereus::rl
