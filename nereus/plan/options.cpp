#include "nereus/plan/options.h"

#include <algorithm>
#include <span>
#include <utility>

#include "nereus/plan/memory.h"
#include "nereus/plan/stage_cost.h"

namespace nereus::plan {
namespace {

constexpr int32_t kMostMicroBatch = 64;
constexpr size_t kMostOptions = 128;  ///< of a grid: 8 micro-batches, recomputation, ZeRO, leaving when idle

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

/// Appends what the ranks need, by pipeline index. False, and nothing is appended, where one of them is more
/// than `largest` bytes by itself.
bool add_needs(const Job& job, const Placement& placement, const std::vector<RankSize>& sizes, double largest,
               std::vector<Need>& needs) {
  const size_t before = needs.size();
  for (int32_t p = 0; p < placement.layout.pp; ++p) {
    const Footprint bytes = footprint(job, placement, p, sizes[static_cast<size_t>(p)]);
    const double weights = bytes.running[Component::weights];
    needs.push_back({weights, bytes.idle.total() - weights, bytes.running.total() - weights,
                     bytes.running[Component::kv_pool]});
    if (weights + needs.back().running <= largest * (1 + 1e-9)) continue;
    needs.resize(before);
    return false;
  }
  return true;
}

using Needs = std::span<const Need>;

/// Bytes for KV if nothing else were on the roomiest device: an upper bound.
double most_kv(Needs needs, double largest) {
  double least = largest;
  for (const Need& need : needs) least = std::min(least, largest - need.weights - need.running + need.kv);
  return least;
}

/// Bytes of the fullest rank between its turns, if it stays.
double most_idle(Needs needs) {
  double most = 0;
  for (const Need& need : needs) most = std::max(most, need.weights + need.idle);
  return most;
}

/// Bytes of the fullest rank in its turn.
double most_running(Needs needs) {
  double most = 0;
  for (const Need& need : needs) most = std::max(most, need.weights + need.running);
  return most;
}

/// An option of the grid at hand before it is known whether another beats it.
struct Draft {
  const Placement* placement = nullptr;
  size_t needs = 0;  ///< the first of its needs among those of all
  double most_idle = 0, most_running = 0, seconds = 0;

  bool shards_weights() const { return placement->what.stage == Stage::train && placement->zero >= 3; }
};

/// Whether a is at least as good as b in time and in every byte. `needs`: of all.
bool beats(const Draft& a, const Draft& b, const std::vector<Need>& needs) {
  if (a.seconds > b.seconds || a.shards_weights() != b.shards_weights()) return false;
  if (a.placement->leaves_when_idle != b.placement->leaves_when_idle) return false;
  for (size_t p = 0; p < static_cast<size_t>(a.placement->layout.pp); ++p) {
    const Need &x = needs[a.needs + p], &y = needs[b.needs + p];
    if (x.weights > y.weights || x.idle > y.idle || x.running > y.running) return false;
  }
  return true;
}

/// Keeps the drafts that no other beats; of equals the first. Fastest first.
std::vector<Draft> unbeaten(std::vector<Draft> drafts, const std::vector<Need>& needs) {
  std::stable_sort(drafts.begin(), drafts.end(),
                   [](const Draft& a, const Draft& b) { return a.seconds < b.seconds; });
  std::vector<Draft> kept;
  for (const Draft& draft : drafts) {
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const Draft& other) { return beats(other, draft, needs); }))
      kept.push_back(draft);
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
  result.reserve(kMostOptions);
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

OptionMaker::OptionMaker(const Job& job, const Calibration& calibration)
    : job_(job), calibration_(calibration), sequence_(work_of(job.lengths, 1)) {}

const OptionMaker::Regime& OptionMaker::regime(const Placement& placement) {
  const Layout& layout = placement.layout;
  const auto key = std::tuple(placement.what.role, layout.pp, layout.tp);
  const auto found = regimes_.find(key);
  if (found != regimes_.end()) return found->second;
  return regimes_
      .emplace(key, Regime{RegimeFactors(calibration_, regime_of(placement)),
                           rank_sizes(*job_.find(placement.what.role), layout)})
      .first->second;
}

std::vector<Option> OptionMaker::options_on(ModelStage what, const Grid& grid, double largest) {
  const std::vector<Placement> placements = placements_on(job_, what, grid);
  const Regime& regime = this->regime(placements.front());
  std::vector<Draft> drafts;
  std::vector<Need> all;
  // Placements come in pairs: the second differs only in that it leaves when idle.
  for (size_t i = 0; i < placements.size(); i += 2) {
    const Placement &stays = placements[i], &leaves = placements[i + 1];
    const size_t first = all.size();
    if (!add_needs(job_, stays, regime.sizes, largest, all)) continue;
    priced_ += 2;
    const Needs needs = Needs(all).subspan(first);
    const double pool = what.stage == Stage::generate ? most_kv(needs, largest) : 0;
    const double seconds =
        stage_cost(job_, sequence_, regime.sizes, stays, grid.links, pool, calibration_, regime.factors)
            .total();
    const double idle = most_idle(needs), running = most_running(needs);
    drafts.push_back({&stays, first, idle, running, seconds});
    drafts.push_back({&leaves, first, 0, running, seconds + offload_time(leaves, idle, grid.links)});
  }
  std::vector<Option> options;
  for (const Draft& draft : unbeaten(std::move(drafts), all)) {
    const Needs needs = Needs(all).subspan(draft.needs, static_cast<size_t>(grid.layout.pp));
    options.push_back({*draft.placement,
                       &grid,
                       {needs.begin(), needs.end()},
                       draft.most_idle,
                       draft.most_running,
                       draft.seconds});
  }
  return options;
}

}  // namespace nereus::plan
