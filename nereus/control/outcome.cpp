#include "nereus/control/outcome.h"

#include <algorithm>
#include <cmath>

namespace nereus::control {
namespace {

constexpr double kTransitionRate = 0.5;  // of the logarithm of the transitions' factor
constexpr double kTransitionBound = 5;   // a factor beyond it tells of an accident, not of transitions
constexpr double kNarrowing = 0.5;       // of the margin's widening after a promise was kept

}  // namespace

void Outcome::changed(double predicted_transition) {
  predicted_transition_ = predicted_transition;
  excess_ = 0;
  since_ = 0;
}

void Outcome::observe(double predicted, double observed, double transition) {
  if (transition > 0 && predicted_transition_ > 0) {
    const double ratio =
        std::clamp(transition / predicted_transition_, 1 / kTransitionBound, kTransitionBound);
    transition_ *= std::exp(kTransitionRate * std::log(ratio));
    transition_ = std::clamp(transition_, 1 / kTransitionBound, kTransitionBound);
    predicted_transition_ = 0;
  }
  if (since_ < 0 || since_++ < options_.warm_up) return;
  excess_ += (observed / predicted - 1) / static_cast<double>(options_.steps);
  if (since_ < options_.warm_up + options_.steps) return;
  widening_ = excess_ > options_.tolerance ? std::min(options_.most, widening_ + excess_ / 2)
                                           : kNarrowing * widening_;
  since_ = -1;
}

}  // namespace nereus::control
