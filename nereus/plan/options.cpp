#include "nereus/plan/options.h"

#include <algorithm>
#include <utility>

#include "nereus/plan/memory.h"
#include "nereus/plan/stage_cost.h"

namespace nereus::plan {
namespace {

constexpr int32_t kMostMicroBatch = 64;

/// Adds the placement as one that stays, then as one that leaves.
void add_both(std::vector<Placement>& result, Placement placement) {
  for (const bool leaves : {false, true}) {
    placement.leaves_when_idle = leaves;
    result.push_back(placement);
  }
}

/// Powers of two, and all sequences at once where that is not one of them.
std::vector<int32_t> micro_batch_sizes(int64_t sequences) {
  const auto most = static_cast<int32_t>(std::min<int64_t>(sequences, kMostMicroBatch));
  std::vector<int32_t> sizes;
  for (int32_t size = 1; size <= most; size *= 2) sizes.push_back(size);
  if (sizes.back() != most) sizes.push_back(most);
  return sizes;
}

/// What the ranks need, by pipeline index. False where one of them is more than `largest` bytes by itself.
bool needs_of(const Job& job, const Placement& placement, const std::vector<RankSize>& sizes, double largest,
              std::vector<Need>& needs) {
  needs.clear();
  for (int32_t p = 0; p < placement.layout.pp; ++p) {
    const Footprint bytes = footprint(job, placement, p, sizes[static_cast<size_t>(p)]);
    const double weights = bytes.running[Component::weights];
    needs.push_back({weights, bytes.idle.total() - weights, bytes.running.total() - weights,
                     bytes.running[Component::kv_pool]});
    if (weights + needs.back().running > largest * (1 + 1e-9)) return false;
  }
  return true;
}

/// Bytes for KV if nothing else were on the roomiest device: an upper bound.
double most_kv(const std::vector<Need>& needs, double largest) {
  double least = largest;
  for (const Need& need : needs) least = std::min(least, largest - need.weights - need.running + need.kv);
  return least;
}

/// Bytes of the fullest rank between its turns, if it stays.
double most_idle(const std::vector<Need>& needs) {
  double most = 0;
  for (const Need& need : needs) most = std::max(most, need.weights + need.idle);
  return most;
}

/// Bytes of the fullest rank in its turn.
double most_running(const std::vector<Need>& needs) {
  double most = 0;
  for (const Need& need : needs) most = std::max(most, need.weights + need.running);
  return most;
}

/// Whether a is at least as good as b in time and in every byte. Both are on one grid.
bool beats(const Option& a, const Option& b) {
  if (a.seconds > b.seconds || a.shards_weights() != b.shards_weights()) return false;
  if (a.placement.leaves_when_idle != b.placement.leaves_when_idle) return false;
  for (size_t p = 0; p < a.needs.size(); ++p) {
    if (a.needs[p].weights > b.needs[p].weights || a.needs[p].idle > b.needs[p].idle ||
        a.needs[p].running > b.needs[p].running)
      return false;
  }
  return true;
}

/// Keeps the options that no other beats; of equals the first. Fastest first.
std::vector<Option> unbeaten(std::vector<Option> options) {
  std::vector<Option*> order;
  order.reserve(options.size());
  for (Option& option : options) order.push_back(&option);
  std::stable_sort(order.begin(), order.end(),
                   [](const Option* a, const Option* b) { return a->seconds < b->seconds; });
  std::vector<Option> kept;
  for (Option* option : order) {
    if (std::none_of(kept.begin(), kept.end(), [&](const Option& other) { return beats(other, *option); }))
      kept.push_back(std::move(*option));
  }
  return kept;
}

}  // namespace

Placement placement_of(const Option& option) {
  Placement placement = option.placement;
  placement.devices = option.grid->devices;
  return placement;
}

int64_t most_replicas(const Job& job, ModelStage what) {
  return what.stage == Stage::train ? std::max<int64_t>(1, job.samples() / job.minibatches) : job.samples();
}

std::vector<Placement> placements_on(const Job& job, ModelStage what, const Grid& grid) {
  std::vector<Placement> result;
  Placement placement{.what = what, .devices = {}, .layout = grid.layout};
  if (what.stage == Stage::generate) {
    add_both(result, placement);
    return result;
  }
  for (const int32_t size : micro_batch_sizes(sequences_of_replica(job, placement))) {
    placement.micro_batch = size;
    if (what.stage == Stage::infer) {
      add_both(result, placement);
      continue;
    }
    for (const bool recompute : {false, true}) {
      placement.recompute = recompute;
      for (int32_t zero = grid.layout.dp > 1 ? 0 : 1; zero <= (grid.layout.dp > 1 ? 3 : 1); ++zero) {
        placement.zero = zero;
        add_both(result, placement);
      }
    }
  }
  return result;
}

std::vector<Option> options_on(const Job& job, ModelStage what, const Grid& grid, double largest,
                               const Calibration& calibration, int64_t& priced) {
  const Work sequence = work_of(job.lengths, 1);
  const std::vector<RankSize> sizes = rank_sizes(*job.find(what.role), grid.layout);
  const std::vector<Placement> placements = placements_on(job, what, grid);
  const RegimeFactors factors(calibration, regime_of(placements.front()));
  std::vector<Option> options;
  options.reserve(placements.size());
  std::vector<Need> needs;
  // Placements come in pairs: the second differs only in that it leaves when idle.
  for (size_t i = 0; i < placements.size(); i += 2) {
    const Placement &stays = placements[i], &leaves = placements[i + 1];
    if (!needs_of(job, stays, sizes, largest, needs)) continue;
    priced += 2;
    const double pool = what.stage == Stage::generate ? most_kv(needs, largest) : 0;
    const double seconds =
        stage_cost(job, sequence, sizes, stays, grid.links, pool, calibration, factors).total();
    const double idle = most_idle(needs), running = most_running(needs);
    const double moves = offload_time(leaves, idle, grid.links);
    options.push_back({stays, &grid, needs, idle, running, seconds});
    options.push_back({leaves, &grid, needs, 0, running, seconds + moves});
  }
  return unbeaten(std::move(options));
}

}  // namespace nereus::plan
