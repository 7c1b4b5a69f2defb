#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "nereus/simulator/lengths.h"
#include "nereus/simulator/scenario.h"

namespace nereus::simulator {

/// The sequences of one step, and their order in minibatches. Not thread-safe.
class StepSamples {
 public:
  explicit StepSamples(StepLengths lengths) : lengths_(std::move(lengths)) {}

  const StepLengths& lengths() const { return lengths_; }
  /// The samples of each minibatch, longest first.
  const std::vector<std::vector<size_t>>& sorted(int64_t minibatches) const;

 private:
  StepLengths lengths_;
  mutable std::map<int64_t, std::vector<std::vector<size_t>>> sorted_;  ///< by minibatches
};

/// The sequences of a scenario's runs, which all policies meet alike: drawn once for all of them, as far as
/// there is room to keep them. Not thread-safe.
class Samples {
 public:
  /// Both outlive this. `curve`: scenario.curve(), which takes long to fit.
  Samples(const Scenario& scenario, const LengthCurve& curve) : scenario_(scenario), curve_(curve) {}

  std::shared_ptr<const StepSamples> of(int64_t step, uint64_t seed);
  const LengthCurve& curve() const { return curve_; }

 private:
  static constexpr int64_t kMostKept = 2'000'000;  ///< sequences, of some 30 bytes

  const Scenario& scenario_;
  const LengthCurve& curve_;
  std::map<std::pair<uint64_t, int64_t>, std::shared_ptr<const StepSamples>> known_;  ///< by seed and step
};

}  // namespace nereus::simulator
