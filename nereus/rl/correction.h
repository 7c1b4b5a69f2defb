#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <string_view>

#include "nereus/base/result.h"
#include "nereus/rl/token_batch.h"

namespace nereus::rl {

/// Correction for a sampler that is not the old policy, w = exp(old log-prob - sampler's log-prob).
enum class CorrectionMode {
  none,
  token_truncate,     ///< w of each token clipped into the bounds (truncated importance sampling, Yao et al.
                      ///< 2025)
  token_mask,         ///< 0 where w is outside the bounds (IcePop, arXiv:2510.18855)
  sequence_truncate,  ///< the same on the product over a sequence
  sequence_mask,
  decoupled,  ///< w as it is; `old` is then the proximal policy (Hilton et al., arXiv:2110.00641; AReaL)
};
inline constexpr std::array<std::string_view, 6> kCorrectionModes{
    "none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask", "decoupled"};

struct CorrectionOptions {
  CorrectionMode mode = CorrectionMode::sequence_mask;
  std::optional<double> min = {};   ///< lower bound of w; absent: none
  std::optional<double> max = 3.0;  ///< upper bound of w; absent: none
};

/// A mode with its usual bounds: at most 3, for token_mask [0.5, 5], none for decoupled.
CorrectionOptions usual_correction(CorrectionMode mode);

struct Correction {
  at::Tensor raw;     ///< [tokens] w before the bounds, of the token or of its sequence, without gradient
  at::Tensor weight;  ///< [tokens] what multiplies the policy term, without gradient
  bool of_sequences = false;  ///< all tokens of a sequence have the same
};

/// All weights are 1 without the sampler's log-probs. Log-ratios are clamped to +-20, of tokens and of
/// sequences.
Correction correction(const ActiveBatch& batch, const CorrectionOptions& options);

/// Off-policy sequence mask (DeepSeek-V3.2, arXiv:2512.02556): 0 for tokens of negative advantage in a
/// sequence whose mean of (sampler's - policy's log-prob) exceeds `threshold`, else 1. [tokens], without
/// gradient.
at::Tensor off_policy_mask(const ActiveBatch& batch, double threshold);

Status validate(const CorrectionOptions& options);

}  // namespace nereus::rl
