#pragma once

#include <array>
#include <cstdint>

namespace nereus::control {

/// Starting values of a line; shares and deviations are relative to the first measurement.
struct LineOptions {
  double constant = 0.3;         ///< share of the first measurement that does not grow with the work
  double prior_deviation = 0.3;  ///< of either coefficient
  double noise = 0.02;           ///< of one measurement, to begin with; learned
  double drift = 0.01;           ///< of the whole line between two measurements, to begin with; learned
  double outlier = 4;            ///< deviations beyond which a measurement is set aside
};

/// measured = constant + slope * work, learned as measurements come: a Kalman filter of the two coefficients,
/// both of which drift by a common factor (a machine that slows down). Noise and drift are learned as well:
/// where successive errors agree in sign the drift was taken for too small, where they alternate for too
/// large. Not thread-safe.
class OnlineLine {
 public:
  explicit OnlineLine(LineOptions options = {}) : options_(options) {}

  /// Learns from one measurement. False: it was an outlier and is set aside; a second one in a row on the
  /// same side is taken for a change of the machine and believed at once. REQUIRES: work > 0, measured > 0.
  bool observe(double work, double measured);

  /// Prediction. Before the first measurement: `work` itself, the analytic figure.
  double at(double work) const;
  /// Standard deviation of the prediction, relative to it, without the noise of a single measurement.
  double deviation(double work) const;
  double constant() const { return count_ == 0 ? 0 : line_[0]; }
  double slope() const { return count_ == 0 ? 1 : line_[1] / scale_; }
  double noise() const;  ///< relative standard deviation of one measurement
  int64_t count() const { return count_; }
  double last_work() const { return last_work_; }

 private:
  using Pair = std::array<double, 2>;

  void start(double work, double measured);
  void inflate(double variance);
  void update(double error, double variance, const Pair& gain_numerator);
  void keep_positive();
  void learn_scales(double z);
  Pair features(double work) const { return {1, work / scale_}; }

  LineOptions options_;
  Pair line_{};  // constant, slope * scale_
  std::array<Pair, 2> covariance_{};
  double scale_ = 1;              // work of the first measurement
  double noise_ = 0, drift_ = 0;  // relative variances
  double last_z_ = 0, last_work_ = 0;
  bool set_aside_ = false;  // the last measurement was an outlier
  int64_t count_ = 0;
};

}  // namespace nereus::control
