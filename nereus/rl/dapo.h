#pragma once

#include <cstdint>
#include <span>

#include "nereus/rl/rewards.h"

// Two parts of DAPO (Yu et al., arXiv:2503.14476) that act on rewards; its clipping and aggregation are
// options of policy_loss.h.
namespace nereus::rl {

/// Whether a group's rewards differ. A group that all got right, or all wrong, or in which fewer than two
/// completions have a reward, teaches nothing; dynamic sampling drops it and asks for more.
bool keep_group(std::span<const Reward> rewards);

/// Soft overlong penalty, added to the reward: 0 up to max_length - cache tokens, falling linearly to -1 at
/// max_length, -1 beyond. REQUIRES: 0 <= cache <= max_length.
double overlong_penalty(int64_t length, int64_t max_length, int64_t cache);

}  // namespace nereus::rl
