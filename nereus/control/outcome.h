#pragma once

#include <cstdint>

namespace nereus::control {

struct OutcomeOptions {
  int64_t warm_up = 1;      ///< steps after a change that are not held against the prediction
  int64_t steps = 3;        ///< steps that are
  double tolerance = 0.02;  ///< relative excess that is no miss
  double most = 0.3;        ///< that the margin is widened by
};

/// Compares what a change promised with what came of it: a plan slower than predicted widens the margin that
/// the next gain has to exceed by half the excess, and one that kept its promise narrows it again. Also how
/// much longer transitions take than predicted. Not thread-safe.
class Outcome {
 public:
  explicit Outcome(OutcomeOptions options = {}) : options_(options) {}

  void changed(double predicted_transition);
  /// One step after a change: seconds predicted at the change, seconds observed, and those of the transition
  /// where one came before this step (0: none).
  void observe(double predicted, double observed, double transition);

  double widening() const { return widening_; }             ///< of the margin, relative
  double transition_factor() const { return transition_; }  ///< observed / predicted

 private:
  OutcomeOptions options_;
  double widening_ = 0, transition_ = 1;
  double predicted_transition_ = 0, excess_ = 0;
  int64_t since_ = -1;  // steps since the change that is being judged; -1: none is
};

}  // namespace nereus::control
