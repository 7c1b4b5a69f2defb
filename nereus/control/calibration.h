#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "nereus/control/online_line.h"
#include "nereus/plan/time.h"

namespace nereus::control {

/// The operation that a stage's whole time is calibrated as.
plan::Operation operation_of(plan::Stage stage);

/// How far measured times are from analytic ones.
struct Factor {
  double value = 1;      ///< measured / analytic
  double deviation = 0;  ///< standard deviation of its logarithm
  int64_t count = 0;     ///< measurements of this very regime
};

/// How far factors of one operation lie apart before anything is known: standard deviations of logarithms.
struct CalibrationOptions {
  double between_jobs = 0.3;      ///< of an operation's common factor around 1
  double between_regimes = 0.08;  ///< of a regime's factor around the operation's
  double ageing = 0.02;           ///< that a regime drifts in a step in which it is not measured
  LineOptions line;
};

/// Learns what the analytic model misses, by operation and regime, from the times that a running job reports.
/// Within a regime time is affine in the analytic time (a part of every stage does not grow with the tokens).
/// A regime that was not seen takes the mean of those that were, which itself is shrunk to 1; one that was
/// seen long ago returns to that mean. Not thread-safe.
class Calibrator {
 public:
  explicit Calibrator(CalibrationOptions options = {}) : options_(options) {}

  /// One measurement, in seconds: `analytic` is what the model says with factors of 1. False: set aside as an
  /// outlier. REQUIRES: analytic > 0, measured > 0.
  bool observe(plan::Operation operation, const std::string& regime, double analytic, double measured);
  /// Called once a step: what was not measured since gets older.
  void end_step();

  /// At the work that was measured last.
  Factor factor(plan::Operation operation, const std::string& regime) const;
  /// Relative standard deviation of a single measurement.
  double noise(plan::Operation operation, const std::string& regime) const;

  /// `base` with the factor and offset of every regime seen, those of a role's other regimes under the role's
  /// name, and under the empty regime the factor of all else.
  plan::Calibration calibration(const plan::Calibration& base) const;

 private:
  struct Regime {
    OnlineLine line;
    int64_t age = 0;  // steps since the last measurement
  };
  struct Pool {
    double mean = 0, variance = 0;  // of the logarithm of the operation's common factor
  };

  Pool pool(plan::Operation operation) const;
  void add_roles(plan::Operation operation, const Pool& common, plan::Calibration& result) const;
  Factor factor(const Regime& regime, const Pool& common) const;
  double variance(const Regime& regime) const;

  CalibrationOptions options_;
  std::map<std::pair<plan::Operation, std::string>, Regime> regimes_;
};

}  // namespace nereus::control
