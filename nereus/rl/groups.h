#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::rl {

/// Sizes of the groups in a list of completions, from the prompt that each answers.
/// Errors: a prompt whose completions do not stand together, so that a group would be split or mixed.
Result<std::vector<int64_t>> group_sizes(std::span<const uint64_t> prompts);

/// Refuses groups of fewer than two and sizes that do not add up to `completions`.
Status check_groups(std::span<const int64_t> sizes, int64_t completions);

}  // namespace nereus::rl
