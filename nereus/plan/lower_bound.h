#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "nereus/plan/options.h"

namespace nereus::plan {

struct Choices;

/// Lower bounds of a step whose stages all take turns on one pool, with the pool's memory taken into account:
/// while a stage runs, its bytes and the idle bytes of all others fit together. With a price on bytes
/// (Lagrangian relaxation; Fisher, "The Lagrangian Relaxation Method for Solving Integer Programming
/// Problems", 1981) the stages no longer depend on each other, and every choice of options takes at least the
/// sum of its options' costs less the price of the whole memory. Immutable; thread-safe.
class LowerBound {
 public:
  /// Ways to bound: by time alone, then at the prices that bound best.
  static constexpr size_t kViews = 4;
  using Costs = std::array<double, kViews>;

  /// `room`: bytes of all devices of the pool that may be filled.
  LowerBound(const std::vector<Choices>& choices, const Job& job, double room);

  /// What an option, by its place in its stage's choices, costs more than the cheapest of its stage. The
  /// first cost is its time.
  const Costs& beyond(size_t stage, size_t option) const { return beyond_[stage][option]; }
  /// Seconds that combinations take at least whose options cost so much more than the cheapest in all.
  double seconds(const Costs& beyond) const {
    double most = constants_[0] + beyond[0];
    for (size_t v = 1; v < kViews; ++v) most = std::max(most, constants_[v] + beyond[v]);
    return most * kSlack;
  }
  /// The same by time alone: no more than `seconds`.
  double seconds_of_time(double beyond) const { return (constants_[0] + beyond) * kSlack; }

 private:
  static constexpr double kSlack = 1 - 1e-12;  ///< sums are rounded

  std::vector<std::vector<Costs>> beyond_;  ///< [stages][options]
  Costs constants_{};                       ///< of the cheapest options
};

inline LowerBound::Costs operator+(LowerBound::Costs a, const LowerBound::Costs& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

}  // namespace nereus::plan
