#include "nereus/runtime/policy_sampler.h"

#include <utility>

namespace nereus::runtime {

void EmbeddedSampler::hand_over(const model::Transformer& trained, int64_t version) {
  Handed handed{version, trained.packed_adapter()};
  const std::lock_guard lock(mutex_);
  handed_ = std::move(handed);
}

Result<std::optional<int64_t>> EmbeddedSampler::adopt() {
  std::optional<Handed> handed;
  {
    const std::lock_guard lock(mutex_);
    handed = std::exchange(handed_, std::nullopt);
  }
  if (!handed) return std::nullopt;
  actor_.engine().set_policy("", handed->version, std::move(handed->adapter));
  return handed->version;
}

}  // namespace nereus::runtime
