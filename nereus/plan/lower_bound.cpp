#include "nereus/plan/lower_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "nereus/plan/combine.h"

namespace nereus::plan {
namespace {

constexpr int32_t kRounds = 24;  ///< in which a price is narrowed down

/// Bytes of an option on all its devices, idle and running.
struct Bytes {
  double idle = 0, running = 0;
};

/// `share`: of the weights. Options of one model may have one copy of them: with shares that add up to 1
/// whatever they have together is no less than the sum.
Bytes bytes_of(const Option& option, double share) {
  const Layout& layout = option.placement.layout;
  const double ranks = static_cast<double>(layout.dp) * layout.tp;
  Bytes bytes;
  for (const Need& need : option.needs) {
    bytes.running += ranks * (need.running + share * need.weights);
    if (!option.placement.leaves_when_idle) bytes.idle += ranks * (need.idle + share * need.weights);
  }
  return bytes;
}

std::vector<std::vector<Bytes>> bytes_of_all(const std::vector<Choices>& choices) {
  std::vector<std::vector<Bytes>> result;
  for (const Choices& stage : choices) {
    const auto same = [&](const Choices& other) { return other.what.role == stage.what.role; };
    const double share = 1.0 / static_cast<double>(std::count_if(choices.begin(), choices.end(), same));
    std::vector<Bytes>& bytes = result.emplace_back();
    for (const Option* option : stage.options) bytes.push_back(bytes_of(*option, share));
  }
  return result;
}

/// One way to bound a step from below.
struct View {
  size_t running = 0;    ///< the stage in whose moment memory is looked at
  double price = 0;      ///< seconds a byte
  bool rewards = false;  ///< rewards outside the models are counted in place of what runs beside them
  double bound = 0;      ///< seconds that every combination takes
};

/// What one option takes and holds.
struct Held {
  double seconds = 0, bytes = 0;
};

/// Those that no other beats in both, at whatever price a byte has: fewer bytes first.
std::vector<Held> unbeaten(std::vector<Held> all) {
  std::sort(all.begin(), all.end(), [](const Held& a, const Held& b) {
    return std::pair(a.bytes, a.seconds) < std::pair(b.bytes, b.seconds);
  });
  std::vector<Held> kept;
  for (const Held& held : all) {
    if (kept.empty() || held.seconds < kept.back().seconds) kept.push_back(held);
  }
  return kept;
}

/// All that costs are made of. `bytes`: [stages][options].
class Relaxation {
 public:
  Relaxation(const std::vector<Choices>& choices, const Job& job, double room)
      : choices_(choices), job_(job), room_(room), bytes_(bytes_of_all(choices)) {
    for (size_t i = 0; i < choices.size(); ++i) {
      std::vector<Held> idle, running;
      for (size_t o = 0; o < choices[i].options.size(); ++o) {
        const double seconds = choices[i].options[o]->seconds;
        idle.push_back({seconds, bytes_[i][o].idle});
        running.push_back({seconds, bytes_[i][o].running});
      }
      idle_.push_back(unbeaten(std::move(idle)));
      running_.push_back(unbeaten(std::move(running)));
    }
  }

  double cost(const View& view, size_t stage, size_t option) const {
    const Bytes& bytes = bytes_[stage][option];
    const double held = stage == view.running ? bytes.running : bytes.idle;
    return (beside(view, stage) ? 0 : choices_[stage].options[option]->seconds) + view.price * held;
  }

  /// The least cost of the stage's options.
  double least(const View& view, size_t stage) const {
    const bool free = beside(view, stage);
    double least = std::numeric_limits<double>::infinity();
    for (const Held& held : stage == view.running ? running_[stage] : idle_[stage])
      least = std::min(least, (free ? 0 : held.seconds) + view.price * held.bytes);
    return least;
  }

  /// What is added to the sum of costs.
  double constant(const View& view) const {
    return (view.rewards ? job_.reward_seconds : 0) - view.price * room_;
  }

  double bound(const View& view) const {
    double sum = constant(view);
    for (size_t i = 0; i < choices_.size(); ++i) sum += least(view, i);
    return sum;
  }

  /// With the best price: the bound is concave in it, so that a search by thirds finds it.
  View best(size_t running, bool rewards) const {
    View view{running, 0, rewards, 0};
    const auto at = [&](double price) { return view.price = price, bound(view); };
    double low = 0, high = 4 * std::max(at(0), 1e-9) / std::max(room_, 1.0);
    for (int32_t round = 0; round < kRounds; ++round) {
      const double third = (high - low) / 3;
      if (at(low + third) < at(high - third)) {
        low += third;
      } else {
        high -= third;
      }
    }
    view.bound = at((low + high) / 2);
    return view;
  }

 private:
  bool beside(const View& view, size_t stage) const {
    if (!view.rewards) return false;
    const Stage kind = choices_[stage].what.stage;
    return kind == Stage::infer || (kind == Stage::generate && job_.asynchronous);
  }

  const std::vector<Choices>& choices_;
  const Job& job_;
  double room_;
  std::vector<std::vector<Bytes>> bytes_;
  std::vector<std::vector<Held>> idle_, running_;  ///< [stages], of the options that may cost the least
};

/// Those without a price, then those that bound the step best.
std::vector<View> views_of(const Relaxation& relaxation, size_t stages, bool rewarded) {
  std::vector<View> result, priced;
  for (const bool rewards : {false, true}) {
    if (rewards && !rewarded) continue;
    result.push_back({.rewards = rewards});
    for (size_t i = 0; i < stages; ++i) priced.push_back(relaxation.best(i, rewards));
  }
  std::stable_sort(priced.begin(), priced.end(),
                   [](const View& a, const View& b) { return a.bound > b.bound; });
  const size_t count = std::min(priced.size(), LowerBound::kViews - result.size());
  result.insert(result.end(), priced.begin(), priced.begin() + static_cast<std::ptrdiff_t>(count));
  return result;
}

}  // namespace

LowerBound::LowerBound(const std::vector<Choices>& choices, const Job& job, double room)
    : beyond_(choices.size()) {
  constants_.fill(-std::numeric_limits<double>::infinity());
  const Relaxation relaxation(choices, job, room);
  const std::vector<View> views = views_of(relaxation, choices.size(), job.reward_seconds > 0);
  for (size_t i = 0; i < choices.size(); ++i) beyond_[i].resize(choices[i].options.size());
  for (size_t v = 0; v < views.size(); ++v) {
    constants_[v] = relaxation.constant(views[v]);
    for (size_t i = 0; i < choices.size(); ++i) {
      const double least = relaxation.least(views[v], i);
      for (size_t o = 0; o < choices[i].options.size(); ++o)
        beyond_[i][o][v] = relaxation.cost(views[v], i, o) - least;
      constants_[v] += least;
    }
  }
}

}  // namespace nereus::plan
