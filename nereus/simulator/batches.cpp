#include "nereus/simulator/batches.h"

#include <algorithm>

namespace nereus::simulator {

namespace {

/// Who gets the card at `index` when cards go back and forth over `hands`.
size_t hand_of(size_t index, size_t hands) {
  const size_t place = index % (2 * hands);
  return std::min(place, 2 * hands - 1 - place);
}

/// The samples of one replica, longest first, in micro-batches.
std::vector<MicroBatch> micro_batches_of(const StepLengths& lengths, const std::vector<size_t>& samples,
                                         size_t each) {
  std::vector<MicroBatch> batches(std::max<size_t>((samples.size() + each - 1) / each, 1));
  for (size_t i = 0; i < samples.size(); ++i) {
    const size_t sample = samples[i];
    MicroBatch& batch = batches[hand_of(i, batches.size())];
    batch.work.add(lengths.prompts[sample] + lengths.responses[sample]);
    batch.responses += lengths.responses[sample];
  }
  return batches;
}

}  // namespace

const StageBatches& Batches::dealt(int64_t minibatches, int32_t replicas, int32_t micro_batch) const {
  const auto [found, added] = dealt_.try_emplace({minibatches, replicas, micro_batch});
  StageBatches& result = found->second;
  if (!added) return result;
  std::vector<std::vector<size_t>> hands(static_cast<size_t>(replicas));
  for (const auto& samples : samples_->sorted(minibatches)) {
    for (auto& hand : hands) hand.clear();
    for (size_t k = 0; k < samples.size(); ++k) hands[hand_of(k, hands.size())].push_back(samples[k]);
    auto& part = result.emplace_back();
    part.reserve(hands.size());
    for (const auto& hand : hands)
      part.push_back(micro_batches_of(lengths(), hand, static_cast<size_t>(micro_batch)));
  }
  return result;
}

}  // namespace nereus::simulator
