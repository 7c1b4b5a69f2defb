#include "nereus/plan/search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "nereus/base/clock.h"
#include "nereus/plan/combine.h"
#include "nereus/plan/explain.h"
#include "nereus/plan/offers.h"
#include "nereus/plan/pools.h"
#include "nereus/plan/schedule.h"

namespace nereus::plan {
namespace {

/// Fastest and smallest options of a stage that first looks are made of, and combinations of separate pools.
constexpr std::array<size_t, 3> kFew{1, 2, 4};

constexpr size_t kAll = std::numeric_limits<size_t>::max();
constexpr int32_t kRounds = 4;  ///< of polishing

/// One search. Not thread-safe.
class Search {
 public:
  Search(const cluster::Cluster& cluster, const Job& job, const Calibration& calibration,
         const SearchOptions& options)
      : cluster_(cluster),
        job_(job),
        calibration_(calibration),
        options_(options),
        stages_(model_stages(job)),
        weight_syncs_(weight_syncs(stages_)),
        maker_(job, calibration),
        watch_(clock_),
        pricing_{cluster, job, calibration, syncs_, [this] { return expired(); }} {}

  SearchResult run(const Plan* current) {
    if (current != nullptr) consider_current(*current);
    std::vector<Shared> shared;
    for (const std::vector<int32_t>& devices : shared_pools(cluster_)) {
      if (!expired()) shared.push_back(look_at(offer(devices)));
    }
    if (options_.separate_pools) separate();
    for (Shared& pool : shared) share(pool);
    result_.complete = result_.complete && !expired();
    result_.considered = maker_.priced();
    explain_all();
    return std::move(result_);
  }

 private:
  const Offers& offer(const std::vector<int32_t>& devices) {
    pools_.push_back(offers_of(cluster_, job_, devices, pools_, maker_));
    return *pools_.back();
  }

  bool expired() const { return watch_.seconds() > options_.deadline; }
  size_t top() const { return static_cast<size_t>(std::max(1, options_.top)); }

  /// Seconds that a plan has to beat to be kept.
  double bound() const {
    if (result_.best.size() < top()) return std::numeric_limits<double>::infinity();
    return result_.best.back().time.total;
  }

  void consider_current(const Plan& current) {
    const int32_t devices = cluster_.devices();
    if (current.placements.size() != stages_.size()) return;
    for (size_t i = 0; i < stages_.size(); ++i) {
      const std::vector<int32_t>& used = current.placements[i].devices;
      if (current.placements[i].what != stages_[i]) return;
      if (std::any_of(used.begin(), used.end(), [&](int32_t d) { return d < 0 || d >= devices; })) return;
    }
    consider(current, links_of(cluster_, current), weight_sync_time(cluster_, job_, current, calibration_));
  }

  double weight_sync(const std::vector<const Option*>& options) const {
    double seconds = 0;
    for (const auto& [from, to] : weight_syncs_)
      seconds += sync_seconds(pricing_, *options[from], *options[to]);
    return seconds;
  }

  /// Keeps the plan if it fits and is among the best.
  void consider(Plan plan, const std::vector<Links>& links, double weight_sync) {
    std::vector<Candidate>& best = result_.best;
    if (std::any_of(best.begin(), best.end(), [&](const Candidate& c) { return c.plan == plan; })) return;
    auto time = predict_if_fits(cluster_, job_, plan, links, weight_sync, calibration_);
    if (!time) return;
    const auto place =
        std::upper_bound(best.begin(), best.end(), time->total,
                         [](double total, const Candidate& c) { return total < c.time.total; });
    best.insert(place, {std::move(plan), std::move(*time)});
    if (best.size() > top()) best.pop_back();
  }

  void consider(const Combinations& combinations) {
    for (const Combination& combination : combinations.best) {
      if (combination.seconds > bound() * (1 + 1e-9)) break;
      Plan plan;
      std::vector<Links> links;
      for (const Option* option : combination.options) {
        plan.placements.push_back(placement_of(*option));
        links.push_back(option->grid->links);
      }
      consider(std::move(plan), links, weight_sync(combination.options));
    }
  }

  /// A pool on which all stages take turns, and the best there so far.
  struct Shared {
    const Offers& offers;
    std::vector<const Option*> best;
  };

  /// First looks: what few options give bounds what more have to be seen of.
  Shared look_at(const Offers& offers) {
    Shared pool{offers, {}};
    for (const size_t count : kFew) improve(taking_turns(offers, count), pool.best);
    return pool;
  }

  /// All options, once everything else has bounded them.
  void share(Shared& pool) {
    const Offers& offers = pool.offers;
    polish(offers, pool.best);
    if (improve(taking_turns(offers, kAll), pool.best)) return;
    result_.complete = false;
    for (const Grid* grid : grids_of(offers)) {
      if (!expired()) improve(alike(offers, *grid), pool.best);
    }
    polish(offers, pool.best);
  }

  /// Whether the combinations of the choices were searched exactly. `best` becomes the best new one.
  bool improve(const std::vector<Choices>& choices, std::vector<const Option*>& best) {
    const Combinations found = combine(pricing_, choices, top(), bound());
    consider(found);
    if (!found.best.empty()) best = found.best.front().options;
    return found.complete;
  }

  /// Grids that every stage has options on, but for generation.
  std::vector<const Grid*> grids_of(const Offers& offers) const {
    std::vector<const Grid*> result;
    for (const Family& family : offers.families) {
      const bool known = std::find(result.begin(), result.end(), family.grid) != result.end();
      const auto has = [&](const std::vector<const Option*>& options) {
        return std::any_of(options.begin(), options.end(),
                           [&](const Option* o) { return o->grid == family.grid; });
      };
      const bool all = std::all_of(offers.options.begin() + 1, offers.options.end(), has);
      if (!known && all) result.push_back(family.grid);
    }
    return result;
  }

  /// Where a beam has cut: inference and training in one layout, so that a model has one copy of its weights.
  std::vector<Choices> alike(const Offers& offers, const Grid& grid) const {
    std::vector<Choices> choices = taking_turns(offers, kFew.back());
    for (size_t i = 0; i < stages_.size(); ++i) {
      std::vector<const Option*>& options = choices[i].options;
      const bool generates = stages_[i].stage == Stage::generate;
      if (!generates) options.clear();
      for (const Option* option : offers.options[i]) {
        const bool known = generates && std::find(options.begin(), options.end(), option) != options.end();
        if (option->grid == &grid && !known) options.push_back(option);
      }
    }
    return choices;
  }

  /// All options of one model at a time beside the others as they are, as long as that helps.
  void polish(const Offers& offers, std::vector<const Option*>& best) {
    for (int32_t round = 0; round < kRounds && !best.empty() && !expired(); ++round) {
      const std::vector<const Option*> before = best;
      for (const Model& model : job_.models) {
        std::vector<Choices> choices = taking_turns(offers, kAll);
        for (size_t i = 0; i < stages_.size(); ++i) {
          if (stages_[i].role != model.role) choices[i].options = {best[i]};
        }
        improve(choices, best);
      }
      if (best == before) break;
    }
  }

  std::vector<Choices> taking_turns(const Offers& offers, size_t count) const {
    std::vector<Choices> choices;
    for (size_t i = 0; i < stages_.size(); ++i)
      choices.push_back({stages_[i], few_of(offers.options[i], count), (1U << i) - 1});
    return choices;
  }

  /// The pool of every stage.
  struct Assignment {
    std::vector<size_t> pools;
    double seconds = 0;  ///< lower bound
  };
  using Few = std::vector<std::array<std::vector<const Option*>, 3>>;

  /// Every model-stage on the first pool of a split, on the second, or on all devices; the most promising of
  /// all splits first.
  void separate() {
    std::vector<std::pair<Few, std::vector<Assignment>>> found;
    for (const auto& split : splits(cluster_)) {
      if (expired()) break;
      Few few = few_on({&offer(split[0]), &offer(split[1]), pools_.front().get()});
      auto assignments = promising(few);
      found.emplace_back(std::move(few), std::move(assignments));
    }
    std::vector<std::pair<const Few*, const Assignment*>> order;
    for (const auto& [few, assignments] : found)
      for (const Assignment& assignment : assignments) order.emplace_back(&few, &assignment);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second->seconds < b.second->seconds; });
    for (const auto& [few, assignment] : order) {
      if (assignment->seconds >= bound() || expired()) break;
      consider(combine(pricing_, choices_of(*few, *assignment), top(), bound()));
    }
  }

  /// A few options of every stage on each of three pools.
  Few few_on(const std::array<const Offers*, 3>& pools) const {
    Few few(stages_.size());
    for (size_t i = 0; i < stages_.size(); ++i) {
      for (size_t pool = 0; pool < 3; ++pool) few[i][pool] = few_of(pools[pool]->options[i], kFew[1]);
    }
    return few;
  }

  /// Bits of the stages before stage `i` that share devices with it; pool 2 is all devices.
  static uint32_t conflicts(const Assignment& assignment, size_t i) {
    uint32_t result = 0;
    for (size_t other = 0; other < i; ++other) {
      const size_t a = assignment.pools[i], b = assignment.pools[other];
      if (a == b || a == 2 || b == 2) result |= 1U << other;
    }
    return result;
  }

  std::vector<Choices> choices_of(const Few& few, const Assignment& assignment) const {
    std::vector<Choices> choices;
    for (size_t i = 0; i < stages_.size(); ++i)
      choices.push_back({stages_[i], few[i][assignment.pools[i]], conflicts(assignment, i)});
    return choices;
  }

  std::vector<Assignment> promising(const Few& few) const {
    std::vector<Assignment> result;
    std::vector<Turn> turns;
    for (size_t i = 0; i < stages_.size(); ++i) turns.push_back(fastest_turn(few, i));
    Assignment assignment;
    extend(few, assignment, turns, result);
    std::stable_sort(result.begin(), result.end(),
                     [](const Assignment& a, const Assignment& b) { return a.seconds < b.seconds; });
    result.resize(std::min(result.size(), static_cast<size_t>(std::max(0, options_.beam))));
    return result;
  }

  /// On whatever pool, and as if no other stage were there.
  Turn fastest_turn(const Few& few, size_t i) const {
    Turn turn{stages_[i], std::numeric_limits<double>::infinity(), 0};
    for (const std::vector<const Option*>& options : few[i]) {
      if (!options.empty()) turn.seconds = std::min(turn.seconds, options.front()->seconds);
    }
    return turn;
  }

  /// Every pool for the next stage, as long as the fastest options are within the bound. `turns`: of the
  /// stages that have a pool so far there, of the others on the fastest.
  void extend(const Few& few, Assignment& assignment, std::vector<Turn>& turns,
              std::vector<Assignment>& result) const {
    const size_t i = assignment.pools.size();
    if (i == stages_.size()) return result.push_back(assignment);
    const Turn fastest = turns[i];
    for (size_t pool = 0; pool < few[i].size(); ++pool) {
      if (few[i][pool].empty()) continue;
      assignment.pools.push_back(pool);
      turns[i] = {stages_[i], few[i][pool].front()->seconds, conflicts(assignment, i)};
      assignment.seconds = course(turns, job_.reward_seconds, job_.asynchronous);
      if (assignment.seconds < bound()) extend(few, assignment, turns, result);
      assignment.pools.pop_back();
    }
    turns[i] = fastest;
  }

  void explain_all() {
    const bool none = result_.best.empty();
    const auto count = static_cast<size_t>(std::max(none ? 3 : 0, options_.explain));
    if (count == 0 || pools_.empty()) return;
    result_.rejected = explain(cluster_, job_, calibration_, pools_.front()->families,
                               none ? nullptr : &result_.best.front().plan, count);
  }

  const cluster::Cluster& cluster_;
  const Job& job_;
  const Calibration& calibration_;
  const SearchOptions& options_;
  const std::vector<ModelStage> stages_;
  const std::vector<std::pair<size_t, size_t>> weight_syncs_;  ///< as places in stages_
  OptionMaker maker_;
  SteadyClock clock_;
  Stopwatch watch_;
  Pools pools_;  ///< the first is all devices
  SyncTimes syncs_;
  Pricing pricing_;
  SearchResult result_;
};

}  // namespace

SearchResult search(const cluster::Cluster& cluster, const Job& job, const Calibration& calibration,
                    const SearchOptions& options, const Plan* current) {
  return Search(cluster, job, calibration, options).run(current);
}

}  // namespace nereus::plan
