#include "nereus/plan/combine.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>

#include "nereus/plan/decode.h"
#include "nereus/plan/lower_bound.h"
#include "nereus/plan/model_state.h"
#include "nereus/plan/schedule.h"

namespace nereus::plan {
namespace {

constexpr int32_t kLooksAtClock = 64;    ///< states between two looks
constexpr size_t kMostStates = 600;      ///< of a model, or of several together, that are kept
constexpr size_t kFewPairs = 6000;       ///< of states, that need no comparison
constexpr double kRounding = 1 - 1e-12;  ///< sums in another order

std::vector<Turn> fastest_turns(const std::vector<Choices>& choices) {
  std::vector<Turn> turns;
  for (const Choices& stage : choices) {
    double least = std::numeric_limits<double>::infinity();
    for (const Option* option : stage.options) least = std::min(least, option->seconds);
    turns.push_back({stage.what, least, stage.conflicts});
  }
  return turns;
}

bool all_shared(const std::vector<Choices>& choices) {
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].conflicts != (1U << i) - 1) return false;
  }
  return true;
}

/// Bytes that may be filled of all devices that a grid has, with slack for rounding.
double room_of(const Pricing& pricing, const std::vector<GridUse>& grids) {
  std::vector<bool> used(static_cast<size_t>(pricing.cluster.devices()), false);
  for (const GridUse& use : grids) {
    for (const int32_t device : use.grid->devices) used[static_cast<size_t>(device)] = true;
  }
  const std::vector<int32_t> machines = cluster::machine_of_each(pricing.cluster);
  double room = 0;
  for (size_t device = 0; device < used.size(); ++device) {
    if (!used[device]) continue;
    const cluster::DeviceKind& kind = pricing.cluster.machines[static_cast<size_t>(machines[device])].kind;
    room += kind.memory * pricing.job.utilization - kind.context;
  }
  return room * (1 + 1e-9);
}

/// Joins the options of each model, then the models. Not thread-safe.
class Combiner {
 public:
  Combiner(const Pricing& pricing, const std::vector<Choices>& choices, size_t top, double bound)
      : pricing_(pricing),
        choices_(choices),
        grids_(grids_in(choices)),
        classes_(pricing.cluster, grids_, pricing.job.utilization),
        maker_(pricing, classes_),
        shared_(all_shared(choices)),
        fastest_(fastest_turns(choices)),
        among_states_(fastest_),
        scratch_(fastest_),
        least_(shared_ ? choices : std::vector<Choices>{}, pricing.job, room_of(pricing, grids_)),
        top_(top),
        bound_(bound) {}

  Combinations run() {
    // The actor has the most choices: what the others take at least leaves few of them.
    std::deque<std::vector<State>> models;
    for (const Role role : {Role::reference, Role::reward, Role::critic, Role::actor}) {
      if (pricing_.job.find(role) == nullptr) continue;
      models.push_front(states_of(role));
      if (models.front().empty()) return {{}, !cut_ && !expired_};
      beside_ = beside_ + floor_of(models.front());
      if (!shared_) set_fastest(models.front(), among_states_);
    }
    std::vector<State> others = {empty()};
    for (size_t i = 1; i < models.size(); ++i) {
      beside_ = floor_of(models.front());
      for (size_t j = i + 1; j < models.size(); ++j) beside_ = beside_ + floor_of(models[j]);
      others = joined(others, models[i], i + 1 == models.size());
    }
    drop_slow(models.front(), others);
    for (const State& actor : models.front()) {
      if (actor.least >= bound_) continue;
      for (const State& other : others) {
        if (stopped() || too_slow(actor, other)) break;
        finish(actor, other);
      }
    }
    return {std::move(best_), !cut_ && !expired_};
  }

 private:
  /// Options of one model, by stage of its own, that are not looked at any closer yet.
  struct Draft {
    std::array<const Option*, 3> options{};
    LowerBound::Costs costs{};  ///< beyond the cheapest
    double seconds = 0;
  };
  /// What states of a model have at least: costs beyond the cheapest options and sync.
  struct Floor {
    LowerBound::Costs costs{};
    double sync = 0;

    Floor operator+(const Floor& other) const { return {costs + other.costs, sync + other.sync}; }
  };
  struct Pair {
    double seconds = 0;
    const State *left = nullptr, *right = nullptr;
  };

  State empty() const {
    State state;
    state.options.resize(choices_.size(), nullptr);
    state.idle.resize(classes_.count(), 0);
    state.peak.resize(classes_.count(), 0);
    state.host.resize(classes_.hosts(), 0);
    return state;
  }

  static Floor floor_of(const std::vector<State>& states) {
    Floor floor;
    for (const State& state : states) {
      const bool first = &state == &states.front();
      floor.sync = first ? state.sync : std::min(floor.sync, state.sync);
      for (size_t k = 0; k < floor.costs.size(); ++k)
        floor.costs[k] = first ? state.costs[k] : std::min(floor.costs[k], state.costs[k]);
    }
    return floor;
  }

  /// Turns of the states' stages take what the fastest of the states takes. REQUIRES: there are some.
  void set_fastest(const std::vector<State>& states, std::vector<Turn>& turns) const {
    for (size_t i = 0; i < turns.size(); ++i) {
      if (states.front().options[i] == nullptr) continue;
      turns[i].seconds = std::numeric_limits<double>::infinity();
      for (const State& state : states)
        turns[i].seconds = std::min(turns[i].seconds, state.options[i]->seconds);
    }
  }

  /// Leaves only those that are fast enough beside the fastest of the other models.
  void drop_slow(std::vector<State>& actors, std::vector<State>& others) {
    for (const std::vector<State>* states : {&actors, &others}) {
      if (!states->empty()) set_fastest(*states, fastest_);
    }
    const Floor beside_actors = floor_of(others), beside_others = floor_of(actors);
    const auto slow = [&, none = empty()](const State& state) { return least_of(state, none) >= bound_; };
    beside_ = beside_actors;
    std::erase_if(actors, slow);
    beside_ = beside_others;
    std::erase_if(others, slow);
    beside_ = {};
  }

  /// Whether all pairs of the actor's with this state or a later one are too slow: others are in the order of
  /// their times.
  bool too_slow(const State& actor, const State& other) const {
    if (!shared_) return other.least >= bound_;
    return least_.seconds_of_time(actor.costs[0] + other.costs[0]) + actor.sync + other.sync >= bound_;
  }

  bool stopped() {
    if (++looks_ % kLooksAtClock == 0) expired_ = expired_ || pricing_.expired();
    return expired_;
  }

  /// Seconds that a step takes at least with the given options, which cost so much more than the cheapest,
  /// and any of all other stages.
  double least_seconds(const std::vector<const Option*>& options, const LowerBound::Costs& costs,
                       double sync) const {
    if (shared_) return least_.seconds(costs) + sync;
    scratch_ = fastest_;
    set_turns(options);
    return course(scratch_, pricing_.job.reward_seconds, pricing_.job.asynchronous) + sync;
  }

  /// The same beside what is left of the models that were looked at before.
  double least_beside_states(const std::vector<const Option*>& options,
                             const LowerBound::Costs& costs) const {
    if (shared_) return (least_.seconds(costs + beside_.costs) + beside_.sync) * kRounding;
    scratch_ = among_states_;
    set_turns(options);
    const double seconds = course(scratch_, pricing_.job.reward_seconds, pricing_.job.asynchronous);
    return (seconds + beside_.sync) * kRounding;
  }

  void set_turns(const std::vector<const Option*>& options) const {
    for (size_t i = 0; i < options.size(); ++i) {
      if (options[i] != nullptr) scratch_[i].seconds = options[i]->seconds;
    }
  }

  std::vector<size_t> stages_of(Role role) const {
    std::vector<size_t> stages;
    for (size_t i = 0; i < choices_.size(); ++i) {
      if (choices_[i].what.role == role) stages.push_back(i);
    }
    return stages;
  }

  std::vector<const Option*> by_stage(const std::vector<size_t>& stages, const Draft& draft) const {
    std::vector<const Option*> options(choices_.size(), nullptr);
    for (size_t i = 0; i < stages.size(); ++i) options[stages[i]] = draft.options[i];
    return options;
  }

  /// Every choice of one model's stages that may still lead to something better, fastest first.
  std::vector<Draft> drafts_of(const std::vector<size_t>& stages) const {
    std::vector<Draft> drafts = {{}};
    std::vector<const Option*> options(choices_.size(), nullptr);
    for (size_t i = 0; i < stages.size(); ++i) {
      std::vector<Draft> longer;
      for (Draft& draft : drafts) {
        for (size_t before = 0; before < i; ++before) options[stages[before]] = draft.options[before];
        const LowerBound::Costs before = draft.costs;
        for (size_t o = 0; o < choices_[stages[i]].options.size(); ++o) {
          options[stages[i]] = draft.options[i] = choices_[stages[i]].options[o];
          if (shared_) draft.costs = before + least_.beyond(stages[i], o);
          draft.seconds = least_seconds(options, draft.costs, 0);
          if (draft.seconds < bound_) longer.push_back(draft);
        }
      }
      drafts = std::move(longer);
    }
    std::stable_sort(drafts.begin(), drafts.end(), [](const Draft& a, const Draft& b) {
      return std::pair(a.costs[0], a.seconds) < std::pair(b.costs[0], b.seconds);
    });
    return drafts;
  }

  std::vector<State> states_of(Role role) {
    const std::vector<size_t> stages = stages_of(role);
    Front front(choices_, shared_, pricing_.job.reward_seconds > 0);
    for (const Draft& draft : drafts_of(stages)) {
      if (stopped() || full(front)) break;
      std::vector<const Option*> options = by_stage(stages, draft);
      if (least_beside_states(options, draft.costs) + maker_.sync(options) >= bound_) continue;
      std::optional<State> state = maker_.make(std::move(options));
      if (!state) continue;
      state->costs = draft.costs;
      state->least = draft.seconds + state->sync;
      front.add(std::move(*state));
    }
    return front.take();
  }

  /// Whether no more states are taken; the fastest are there already.
  bool full(const Front& front) {
    if (front.size() < kMostStates) return false;
    cut_ = true;
    return true;
  }

  /// `last`: the actor's are all that is left to join. Then a few pairs more cost less than comparing them.
  std::vector<State> joined(const std::vector<State>& a, const std::vector<State>& b, bool last) {
    std::vector<Pair> pairs;
    for (const State& left : a) {
      for (const State& right : b) {
        if (stopped()) break;
        const double seconds = least_of(left, right);
        const double time = shared_ ? left.costs[0] + right.costs[0] + left.sync + right.sync : seconds;
        if (seconds < bound_) pairs.push_back({time, &left, &right});
      }
    }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& x, const Pair& y) { return x.seconds < y.seconds; });
    const bool all = last && pairs.size() < kFewPairs;
    std::vector<State> kept;
    Front front(choices_, shared_, pricing_.job.reward_seconds > 0);
    for (const Pair& pair : pairs) {
      if (stopped() || full(front)) break;
      if (!maker_.has_room(*pair.left, *pair.right)) continue;
      State state = join(*pair.left, *pair.right);
      state.least = pair.seconds * kRounding;
      if (all) {
        kept.push_back(std::move(state));
      } else {
        front.add(std::move(state));
      }
    }
    return all ? std::move(kept) : front.take();
  }

  double least_of(const State& a, const State& b) const {
    const double sync = a.sync + b.sync + beside_.sync;
    if (shared_) return least_.seconds(a.costs + b.costs + beside_.costs) + sync;
    for (size_t i = 0; i < scratch_.size(); ++i) {
      const Option* option = a.options[i] != nullptr ? a.options[i] : b.options[i];
      scratch_[i].seconds = option != nullptr ? option->seconds : fastest_[i].seconds;
    }
    return course(scratch_, pricing_.job.reward_seconds, pricing_.job.asynchronous) + sync;
  }

  static std::vector<const Option*> options_of(const State& a, const State& b) {
    std::vector<const Option*> options = a.options;
    for (size_t i = 0; i < options.size(); ++i) {
      if (b.options[i] != nullptr) options[i] = b.options[i];
    }
    return options;
  }

  /// Prices one complete combination and keeps it if it is among the best.
  void finish(const State& actor, const State& other) {
    if (least_of(actor, other) >= bound_ || !maker_.has_room(actor, other)) return;
    std::vector<const Option*> options = options_of(actor, other);
    const double sync = actor.sync + other.sync;
    std::vector<Turn> turns = fastest_;
    for (size_t i = 0; i < options.size(); ++i)
      turns[i].seconds =
          options[i] == actor.generate ? generation_seconds(actor, other) : options[i]->seconds;
    keep({std::move(options), course(turns, pricing_.job.reward_seconds, pricing_.job.asynchronous) + sync});
  }

  /// With the KV that is left beside everything else.
  double generation_seconds(const State& actor, const State& other) {
    const Option& option = *actor.generate;
    const std::vector<int32_t>& pipeline = classes_.pipeline(option.grid);
    double pool = std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < classes_.count(); ++c) {
      if (pipeline[c] >= 0) pool = std::min(pool, classes_.room()[c] - actor.base[c] - other.idle[c]);
    }
    const int64_t concurrency = concurrency_of(pricing_.job, option.placement, pool);
    const auto [found, added] = generations_.try_emplace({&option, concurrency}, 0);
    if (added) {
      found->second =
          stage_time(pricing_.job, option.placement, option.grid->links, pool, pricing_.calibration).total();
    }
    return found->second;
  }

  void keep(Combination combination) {
    if (combination.seconds >= bound_) return;
    best_.insert(
        std::upper_bound(best_.begin(), best_.end(), combination,
                         [](const Combination& a, const Combination& b) { return a.seconds < b.seconds; }),
        std::move(combination));
    if (best_.size() > top_) best_.pop_back();
    if (best_.size() == top_) bound_ = best_.back().seconds;
  }

  const Pricing& pricing_;
  const std::vector<Choices>& choices_;
  std::vector<GridUse> grids_;
  DeviceClasses classes_;
  StateMaker maker_;
  bool shared_;
  std::vector<Turn> fastest_;
  std::vector<Turn> among_states_;  ///< the same, of the options that are in states of their model
  mutable std::vector<Turn> scratch_;
  LowerBound least_;
  Floor beside_;  ///< of the models that the states at hand have yet to be joined with
  size_t top_;
  double bound_;
  std::vector<Combination> best_;
  std::map<std::pair<const Option*, int64_t>, double> generations_;
  int32_t looks_ = 0;
  bool expired_ = false, cut_ = false;
};

}  // namespace

Combinations combine(const Pricing& pricing, const std::vector<Choices>& choices, size_t top, double bound) {
  const bool possible =
      std::all_of(choices.begin(), choices.end(), [](const Choices& c) { return !c.options.empty(); });
  if (!possible || top == 0) return {};
  return Combiner(pricing, choices, top, bound).run();
}

}  // namespace nereus::plan
