#include "nereus/rl/groups.h"

#include <unordered_set>

namespace nereus::rl {

Result<std::vector<int64_t>> group_sizes(std::span<const uint64_t> prompts) {
  std::vector<int64_t> sizes;
  std::unordered_set<uint64_t> seen;
  for (size_t i = 0; i < prompts.size(); ++i) {
    if (i > 0 && prompts[i] == prompts[i - 1]) {
      ++sizes.back();
      continue;
    }
    if (!seen.insert(prompts[i]).second)
      return fail(
          "groups: completion {} belongs to prompt {}, whose group has ended: expected each group whole", i,
          prompts[i]);
    sizes.push_back(1);
  }
  return sizes;
}

Status check_groups(std::span<const int64_t> sizes, int64_t completions) {
  int64_t total = 0;
  for (size_t g = 0; g < sizes.size(); ++g) {
    if (sizes[g] < 2) return fail("groups: group {} has {} completion(s), expected at least 2", g, sizes[g]);
    total += sizes[g];
  }
  if (total != completions)
    return fail("groups: sizes add up to {}, but there are {} completions", total, completions);
  return {};
}

}  // namespace nereus::rl
