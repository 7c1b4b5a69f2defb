#include "nereus/simulator/samples.h"

#include <algorithm>

namespace nereus::simulator {

namespace {

/// The samples [first, last), longest first.
std::vector<size_t> longest_first(const StepLengths& lengths, size_t first, size_t last) {
  std::vector<std::pair<int32_t, size_t>> order;
  order.reserve(last - first);
  for (size_t i = first; i < last; ++i) order.emplace_back(-(lengths.prompts[i] + lengths.responses[i]), i);
  std::ranges::sort(order);
  std::vector<size_t> samples;
  samples.reserve(order.size());
  for (const auto& [length, sample] : order) samples.push_back(sample);
  return samples;
}

}  // namespace

const std::vector<std::vector<size_t>>& StepSamples::sorted(int64_t minibatches) const {
  const auto [found, added] = sorted_.try_emplace(minibatches);
  const auto count = static_cast<int64_t>(lengths_.responses.size());
  for (int64_t i = 0; added && i < minibatches; ++i)
    found->second.push_back(longest_first(lengths_, static_cast<size_t>(count * i / minibatches),
                                          static_cast<size_t>(count * (i + 1) / minibatches)));
  return found->second;
}

std::shared_ptr<const StepSamples> Samples::of(int64_t step, uint64_t seed) {
  const auto found = known_.find({seed, step});
  if (found != known_.end()) return found->second;
  const auto& job = scenario_.job;
  auto drawn = std::make_shared<const StepSamples>(
      curve_.sample(step, job.prompts, job.completions, scenario_.world.prompt_variation, seed));
  if (static_cast<int64_t>(known_.size() + 1) * job.samples() <= kMostKept)
    known_.emplace(std::pair(seed, step), drawn);
  return drawn;
}

}  // namespace nereus::simulator
