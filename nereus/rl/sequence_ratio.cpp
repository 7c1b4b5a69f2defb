#include "nereus/rl/sequence_ratio.h"

#include <ATen/TensorOperators.h>

namespace nereus::rl {

at::Tensor sequence_ratio(const ActiveBatch& batch) {
  const at::Tensor mean = sum_by_sequence(batch.log_ratio, batch) / batch.length.clamp_min(1.0);
  return spread(mean.exp(), batch);
}

}  // namespace nereus::rl
