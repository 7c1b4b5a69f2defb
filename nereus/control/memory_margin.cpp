#include "nereus/control/memory_margin.h"

#include <algorithm>

namespace nereus::control {
namespace {

constexpr double kAgeing = 0.98;  // of the part of the margin that no longer shows in what is remembered

}  // namespace

// 0 where no excess matters, which is nearly always: no sorting then.
double MemoryMargin::seen() const {
  if (options_.safety * *std::max_element(excess_.begin(), excess_.end()) <= options_.prior) return 0;
  std::vector<double> sorted = excess_;
  const auto rank = static_cast<size_t>(options_.quantile * static_cast<double>(sorted.size() - 1) + 0.5);
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(rank), sorted.end());
  return sorted[rank];
}

void MemoryMargin::observe(double forecast, double measured) {
  const double excess = std::max(0.0, measured / forecast - 1);
  if (excess_.size() < static_cast<size_t>(options_.window)) {
    excess_.push_back(excess);
  } else {
    excess_[next_] = excess;
  }
  next_ = (next_ + 1) % static_cast<size_t>(options_.window);
  const double wanted = std::max({options_.prior, options_.safety * seen(), options_.safety * excess});
  margin_ = wanted >= margin_ ? wanted : wanted + kAgeing * (margin_ - wanted);
}

}  // namespace nereus::control
