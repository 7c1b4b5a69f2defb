#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "nereus/simulator/kernel_time.h"
#include "nereus/simulator/samples.h"

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
  Batches(std::shared_ptr<const StepSamples> samples) : samples_(std::move(samples)) {}
  Batches(StepLengths lengths) : Batches(std::make_shared<const StepSamples>(std::move(lengths))) {}

  const StepLengths& lengths() const { return samples_->lengths(); }
  /// In `minibatches` parts, each dealt to `replicas` and there to micro-batches of at most `micro_batch`
  /// sequences, so that sums come out alike: longest first, back and forth. Micro-batches are empty where
  /// there are fewer sequences than replicas.
  const StageBatches& dealt(int64_t minibatches, int32_t replicas, int32_t micro_batch) const;

 private:
  std::shared_ptr<const StepSamples> samples_;
  mutable std::map<std::tuple<int64_t, int32_t, int32_t>, StageBatches> dealt_;
};

}  // namespace nereus::simulator
