#pragma once

#include <cstdint>

namespace nereus::metrics {

/// Weighted sum, mean, deviation and extremes of a quantity. Summaries of parts merge into that of the whole,
/// so that means over micro-batches and ranks are sums over sums, never means of means. Not thread-safe.
class Summary {
 public:
  /// `weight` is the number of observations that `value` is the mean of, e.g. tokens. REQUIRES: weight >= 0
  void add(double value, double weight = 1.0);
  void merge(const Summary& other);

  double weight() const { return weight_; }
  double sum() const { return mean_ * weight_; }
  /// Mean and extremes are NaN (null in a record) where nothing was added.
  double mean() const;
  double min() const;
  double max() const;
  /// Sample standard deviation (n − 1); 0 for one observation, NaN for none.
  double deviation() const;

 private:
  double weight_ = 0, mean_ = 0, squares_ = 0;  // squares: weighted sum of squared distances from the mean
  double min_ = 0, max_ = 0;
};

/// A rate: sum of numerators over sum of denominators.
struct Ratio {
  double numerator = 0, denominator = 0;

  void add(double part, double whole) {
    numerator += part;
    denominator += whole;
  }
  void merge(const Ratio& other) { add(other.numerator, other.denominator); }
  /// NaN where the denominator is 0.
  double value() const;
};

}  // namespace nereus::metrics
