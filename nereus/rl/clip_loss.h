#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace nereus::rl {

/// Range of the ratio in which a token is trained.
struct ClipOptions {
  double low = 0.2;   ///< below 1 - low, ...
  double high = 0.2;  ///< ... above 1 + high (clip-higher, DAPO, arXiv:2503.14476)
  std::optional<double> delta =
      {};  ///< two-sided: cap of the unclipped ratio (INTELLECT-2, arXiv:2505.07291)
  std::optional<double> dual_clip = {};  ///< c: where A < 0, loss at most -c A (Ye et al., arXiv:1912.09729)
};

/// -min(ratio A, clip(ratio) A) (PPO, Schulman et al., arXiv:1707.06347). All [tokens].
at::Tensor clip_loss(const at::Tensor& ratio, const at::Tensor& advantage, const ClipOptions& options);

}  // namespace nereus::rl
