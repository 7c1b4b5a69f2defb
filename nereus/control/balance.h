#pragma once

#include <cstdint>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/plan/job.h"

namespace nereus::control {

/// Seconds of a sequence by its length, up to a factor: work that is linear in the tokens and attention that
/// is quadratic.
struct SequenceCost {
  double linear = 1;
  double quadratic = 0;

  double of(double tokens) const { return linear * tokens + quadratic * tokens * tokens; }
};

/// Of a forward pass: products on every token, and causal attention.
SequenceCost sequence_cost(const plan::Model& model);

/// Spreads sequences over ranks so that none has much more to do than another: the longest first, each to the
/// rank with the least so far (Graham, "Bounds on multiprocessing timing anomalies", 1969: at most 4/3 of the
/// best). Returns indices by rank. Error: no ranks.
Result<std::vector<std::vector<size_t>>> balance(const std::vector<int32_t>& tokens, int32_t ranks,
                                                 const SequenceCost& cost = {});

}  // namespace nereus::control
