#include "nereus/rl/dapo.h"

namespace nereus::rl {

bool keep_group(std::span<const Reward> rewards) {
  return !moments(rewards).equal;
}

double overlong_penalty(int64_t length, int64_t max_length, int64_t cache) {
  const int64_t soft = max_length - cache;
  if (length <= soft) return 0.0;
  if (length > max_length) return -1.0;
  return -static_cast<double>(length - soft) / static_cast<double>(cache);
}

}  // namespace nereus::rl
