#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nereus::rl {

struct GaeOptions {
  double gamma = 1.0;    ///< discount of a token
  double lambda = 0.95;  ///< decay of later errors
  bool whiten = true;    ///< advantages over the batch (returns never)
};

struct Gae {
  std::vector<float> advantages;  ///< [tokens], 0 where masked if whitened
  std::vector<float> returns;     ///< [tokens] unwhitened advantage + value: what the critic learns
};

/// Generalised advantage estimation (Schulman et al., arXiv:1506.02438) over the tokens of completions, one
/// flat list each of rewards, values and mask [tokens]; `lengths` are the tokens of each completion. Across
/// tokens with mask 0 (tool output) value and running advantage carry over unchanged.
/// REQUIRES: the lists are equally long and lengths add up to that.
Gae gae(std::span<const float> rewards, std::span<const float> values, std::span<const float> mask,
        std::span<const int64_t> lengths, const GaeOptions& options);

}  // namespace nereus::rl
