#include "nereus/metrics/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nereus::metrics {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void Summary::add(double value, double weight) {
  if (weight <= 0) return;
  Summary one;
  one.weight_ = weight;
  one.mean_ = one.min_ = one.max_ = value;
  merge(one);
}

// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances"
// (1979).
void Summary::merge(const Summary& other) {
  if (other.weight_ == 0) return;
  if (weight_ == 0) {
    *this = other;
    return;
  }
  const double total = weight_ + other.weight_, distance = other.mean_ - mean_;
  squares_ += other.squares_ + distance * distance * weight_ * other.weight_ / total;
  mean_ += distance * other.weight_ / total;
  weight_ = total;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

double Summary::mean() const {
  return weight_ > 0 ? mean_ : kNone;
}
double Summary::min() const {
  return weight_ > 0 ? min_ : kNone;
}
double Summary::max() const {
  return weight_ > 0 ? max_ : kNone;
}

double Summary::deviation() const {
  if (weight_ <= 0) return kNone;
  return weight_ > 1 ? std::sqrt(squares_ / (weight_ - 1)) : 0.0;
}

double Ratio::value() const {
  return denominator == 0 ? kNone : numerator / denominator;
}

}  // namespace nereus::metrics
