#pragma once

#include <ATen/core/Tensor.h>

#include "nereus/rl/token_batch.h"

namespace nereus::rl {

/// GSPO (Zheng et al., arXiv:2507.18071): one ratio a sequence, the exponential of the mean of its tokens'
/// log-ratios. [tokens], each with its sequence's ratio, with gradient.
at::Tensor sequence_ratio(const ActiveBatch& batch);

}  // namespace nereus::rl
