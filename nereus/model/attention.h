#pragma once

#include <ATen/core/Tensor.h>

namespace nereus::model {

/// What a layer's queries see: the seam between one forward pass and its callers. A packed batch of segments
/// attends to itself (training, scoring), a batch of running sequences to its paged cache (sampling).
class Attention {
 public:
  virtual ~Attention() = default;
  /// qkv [tokens, q + k + v], not yet rotated, may be overwritten; returns [tokens, q].
  virtual at::Tensor attend(int64_t layer, at::Tensor qkv) = 0;
};

}  // namespace nereus::model
