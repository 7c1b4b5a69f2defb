#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nereus/train/policy.h"
#include "nereus/train/trainer.h"

namespace nereus::train {

/// Past policies, kept so that a sampler that lags behind can be compared with the trainer under the very
/// policy that sampled: what remains is how trainer and sampler compute, which should be nothing. Holds a
/// copy of the trained tensors for each version. Not thread-safe.
class SamplerCheck {
 public:
  /// Keeps the newest `keep` policies.
  explicit SamplerCheck(int64_t keep) : keep_(static_cast<size_t>(keep)) {}

  /// The model's trained tensors as they are now are policy `version`.
  void remember(const std::vector<model::Parameter>& parameters, int64_t version);

  /// Scores the first completion that one kept policy sampled whole:
  /// sampling/same_policy/{logp_difference/mean, logp_difference/max, importance_ratio/mean}, over its tokens
  /// that have a log-prob. Empty without such a one.
  std::map<std::string, double> compare(const std::vector<ScoredGroup>& groups, const Policy& policy,
                                        const PackingOptions& packing);

 private:
  Reference* sampler_of(const rollout::Completion& completion);

  size_t keep_;
  std::deque<std::pair<int64_t, Reference>> policies_;  ///< by version, oldest first
};

}  // namespace nereus::train
