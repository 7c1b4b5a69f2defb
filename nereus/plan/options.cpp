#include "nereus/plan/options.h"

#include <algorithm>
#include <array>
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

/// What ranks need in placements of one model-stage in one layout. Placements that follow one another share
/// what they have in common. Not thread-safe.
class NeedMaker {
 public:
  /// Both outlive this. `sizes`: of the ranks, by pipeline index.
  NeedMaker(const Job& job, const std::vector<RankSize>& sizes) : job_(job), sizes_(sizes) {}

  /// Appends what the ranks need, by pipeline index. False, and nothing is appended, where one of them is
  /// more than `largest` bytes by itself.
  bool add(const Placement& placement, double largest, std::vector<Need>& needs) {
    look(placement);
    const size_t before = needs.size();
    const std::vector<State>& states = states_[static_cast<size_t>(placement.zero)];
    for (size_t p = 0; p < sizes_.size(); ++p) {
      const State& state = states[p];
      Ledger running = state.running;
      running[Component::activations] = passes_[p].activations;
      running[Component::logits] = passes_[p].logits;
      const double weights = running[Component::weights];
      needs.push_back(
          {weights, state.idle - weights, running.total() - weights, running[Component::kv_pool]});
      if (weights + needs.back().running <= largest * (1 + 1e-9)) continue;
      needs.resize(before);
      return false;
    }
    return true;
  }

 private:
  /// Of one rank, without what its micro-batches take.
  struct State {
    Ledger running;
    double idle = 0;
  };

  void look(const Placement& placement) {
    std::vector<State>& states = states_[static_cast<size_t>(placement.zero)];
    for (size_t p = states.size(); p < sizes_.size(); ++p) {
      const Footprint bytes = state_footprint(job_, placement, sizes_[p]);
      states.push_back({bytes.running, bytes.idle.total()});
    }
    if (!passes_.empty() && micro_batch_ == placement.micro_batch && recompute_ == placement.recompute)
      return;
    micro_batch_ = placement.micro_batch;
    recompute_ = placement.recompute;
    passes_.clear();
    for (size_t p = 0; p < sizes_.size(); ++p)
      passes_.push_back(pass_bytes(job_, placement, static_cast<int32_t>(p), sizes_[p]));
  }

  const Job& job_;
  const std::vector<RankSize>& sizes_;
  std::array<std::vector<State>, 4> states_;  ///< by ZeRO, then by pipeline index
  std::vector<PassBytes> passes_;             ///< by pipeline index, of the last placement
  int32_t micro_batch_ = 0;
  bool recompute_ = false;
};

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
  NeedMaker needed(job_, regime.sizes);
  StageTimes times(job_, sequence_, regime.sizes, grid.links, calibration_, regime.factors);
  std::vector<Draft> drafts;
  std::vector<Need> all;
  // Placements come in pairs: the second differs only in that it leaves when idle.
  for (size_t i = 0; i < placements.size(); i += 2) {
    const Placement &stays = placements[i], &leaves = placements[i + 1];
    const size_t first = all.size();
    if (!needed.add(stays, largest, all)) continue;
    priced_ += 2;
    const Needs needs = Needs(all).subspan(first);
    const double pool = what.stage == Stage::generate ? most_kv(needs, largest) : 0;
    const double seconds = times.of(stays, pool).total();
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
