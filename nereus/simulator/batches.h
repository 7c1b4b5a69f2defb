#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "nereus/simulator/kernel_time.h"
#include "nereus/simulator/lengths.h"

namespace nereus::simulator {

/// Sequences of one micro-batch.
struct MicroBatch {
  Work work;
  double responses = 0;  ///< tokens that are scored
};
/// [minibatches][replicas][micro-batches].
using StageBatches = std::vector<std::vector<std::vector<MicroBatch>>>;

/// The sequences of one step, and how stages deal them: those that deal alike share it. Not thread-safe.
class Batches {
 public:
  Batches(StepLengths lengths) : lengths_(std::move(lengths)) {}

  const StepLengths& lengths() const { return lengths_; }
  /// In `minibatches` parts, each dealt to `replicas` and there to micro-batches of at most `micro_batch`
  /// sequences, so that sums come out alike: longest first, back and forth. Micro-batches are empty where
  /// there are fewer sequences than replicas.
  const StageBatches& dealt(int64_t minibatches, int32_t replicas, int32_t micro_batch) const;

 private:
  /// The samples of each minibatch, longest first.
  const std::vector<std::vector<size_t>>& sorted(int64_t minibatches) const;

  StepLengths lengths_;
  mutable std::map<int64_t, std::vector<std::vector<size_t>>> sorted_;  ///< by minibatches
  mutable std::map<std::tuple<int64_t, int32_t, int32_t>, StageBatches> dealt_;
};

}  // namespace nereus::simulator
