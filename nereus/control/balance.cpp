#include "nereus/control/balance.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "nereus/plan/model_size.h"

namespace nereus::control {

SequenceCost sequence_cost(const plan::Model& model) {
  const plan::RankSize size = plan::rank_size(model, {}, 0);
  return {.linear = plan::forward_flops(model.config, size, 1, 1, 0, 1),
          .quadratic = plan::forward_flops(model.config, size, 1, 0, 1, 0)};
}

Result<std::vector<std::vector<size_t>>> balance(const std::vector<int32_t>& tokens, int32_t ranks,
                                                 const SequenceCost& cost) {
  if (ranks < 1) return fail("balance: {} ranks: expected at least 1", ranks);
  std::vector<size_t> order(tokens.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return tokens[a] > tokens[b]; });

  using Load = std::pair<double, size_t>;  // cost so far, rank
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (size_t rank = 0; rank < static_cast<size_t>(ranks); ++rank) least.push({0, rank});
  std::vector<std::vector<size_t>> parts(static_cast<size_t>(ranks));
  for (size_t i : order) {
    auto [load, rank] = least.top();
    least.pop();
    parts[rank].push_back(i);
    least.push({load + cost.of(tokens[i]), rank});
  }
  return parts;
}

}  // namespace nereus::control
