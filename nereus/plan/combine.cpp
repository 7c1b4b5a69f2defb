#include "nereus/plan/combine.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "nereus/plan/decode.h"
#include "nereus/plan/model_state.h"
#include "nereus/plan/schedule.h"

namespace nereus::plan {
namespace {

constexpr int32_t kLooksAtClock = 64;  ///< states between two looks
constexpr size_t kMostStates = 600;    ///< of a model, or of several together, that are kept

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

std::vector<const Grid*> grids_in(const std::vector<Choices>& choices) {
  std::set<const Grid*> seen;
  std::vector<const Grid*> result;
  for (const Choices& stage : choices) {
    for (const Option* option : stage.options) {
      if (seen.insert(option->grid).second) result.push_back(option->grid);
    }
  }
  return result;
}

/// Joins the options of each model, then the models. Not thread-safe.
class Combiner {
 public:
  Combiner(const Pricing& pricing, const std::vector<Choices>& choices, size_t top, double bound)
      : pricing_(pricing),
        choices_(choices),
        classes_(pricing.cluster, grids_in(choices), pricing.job.utilization),
        maker_(pricing, classes_),
        shared_(all_shared(choices)),
        fastest_(fastest_turns(choices)),
        top_(top),
        bound_(bound) {}

  Combinations run() {
    const std::vector<State> actors = states_of(Role::actor);
    std::vector<State> others = {empty()};
    for (const Role role : {Role::critic, Role::reward, Role::reference}) {
      if (pricing_.job.find(role) != nullptr) others = joined(others, states_of(role));
    }
    for (const State& actor : actors) {
      for (const State& other : others) {
        if (stopped()) break;
        finish(actor, other);
      }
    }
    return {std::move(best_), !cut_ && !expired_};
  }

 private:
  /// Options of one model, by stage of its own, that are not looked at any closer yet.
  struct Draft {
    std::array<const Option*, 3> options{};
    double seconds = 0;
  };

  State empty() const {
    State state;
    state.options.resize(choices_.size(), nullptr);
    state.idle.resize(classes_.count(), 0);
    state.peak.resize(classes_.count(), 0);
    state.host.resize(classes_.hosts(), 0);
    return state;
  }

  bool stopped() {
    if (++looks_ % kLooksAtClock == 0) expired_ = expired_ || pricing_.expired();
    return expired_;
  }

  /// Seconds of a step with the given options and the fastest of all others.
  double seconds_with(const std::vector<const Option*>& options, double sync) const {
    if (shared_) return in_turn(options) + sync;
    std::vector<Turn>& turns = scratch_;
    turns = fastest_;
    for (size_t i = 0; i < options.size(); ++i) {
      if (options[i] != nullptr) turns[i].seconds = options[i]->seconds;
    }
    return course(turns, pricing_.job.reward_seconds, pricing_.job.asynchronous) + sync;
  }

  /// The same where all take turns.
  double in_turn(const std::vector<const Option*>& options) const {
    double generate = 0, infer = 0, train = 0;
    for (size_t i = 0; i < options.size(); ++i) {
      const double seconds = options[i] != nullptr ? options[i]->seconds : fastest_[i].seconds;
      const Stage stage = fastest_[i].what.stage;
      (stage == Stage::generate ? generate : stage == Stage::infer ? infer : train) += seconds;
    }
    const double reward = pricing_.job.reward_seconds;
    if (pricing_.job.asynchronous) return std::max(generate + infer, reward) + train;
    return generate + std::max(infer, reward) + train;
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
        for (const Option* option : choices_[stages[i]].options) {
          options[stages[i]] = draft.options[i] = option;
          draft.seconds = seconds_with(options, 0);
          if (draft.seconds < bound_) longer.push_back(draft);
        }
      }
      drafts = std::move(longer);
    }
    std::stable_sort(drafts.begin(), drafts.end(),
                     [](const Draft& a, const Draft& b) { return a.seconds < b.seconds; });
    return drafts;
  }

  std::vector<State> states_of(Role role) {
    const std::vector<size_t> stages = stages_of(role);
    Front front(choices_, shared_);
    for (const Draft& draft : drafts_of(stages)) {
      if (stopped() || full(front)) break;
      std::vector<const Option*> options = by_stage(stages, draft);
      if (draft.seconds + maker_.sync(options) >= bound_) continue;
      std::optional<State> state = maker_.make(std::move(options));
      if (state) front.add(std::move(*state));
    }
    return front.states();
  }

  /// Whether no more states are taken; the fastest are there already.
  bool full(const Front& front) {
    if (front.states().size() < kMostStates) return false;
    cut_ = true;
    return true;
  }

  std::vector<State> joined(const std::vector<State>& a, const std::vector<State>& b) {
    std::vector<std::pair<double, State>> all;
    for (const State& left : a) {
      for (const State& right : b) {
        if (stopped()) break;
        State state = join(left, right);
        const double seconds = seconds_with(state.options, state.sync);
        if (seconds < bound_ && maker_.has_room(state)) all.emplace_back(seconds, std::move(state));
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    Front front(choices_, shared_);
    for (auto& [seconds, state] : all) {
      if (stopped() || full(front)) break;
      front.add(std::move(state));
    }
    return front.states();
  }

  /// Prices one complete combination and keeps it if it is among the best.
  void finish(const State& actor, const State& other) {
    std::vector<const Option*> options = actor.options;
    for (size_t i = 0; i < options.size(); ++i) {
      if (other.options[i] != nullptr) options[i] = other.options[i];
    }
    const double sync = actor.sync + other.sync;
    if (seconds_with(options, sync) >= bound_) return;
    if (!maker_.has_room(join(actor, other))) return;
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
  DeviceClasses classes_;
  StateMaker maker_;
  bool shared_;
  std::vector<Turn> fastest_;
  mutable std::vector<Turn> scratch_;
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
