#include "nereus/control/damped_trend.h"

#include <algorithm>
#include <cmath>

namespace nereus::control {
namespace {

constexpr double kDamping = 0.9;
constexpr double kTrendShare = 0.1;  // of the level's gain
constexpr double kMinGain = 0.1, kMaxGain = 0.9, kGainRate = 0.15;
constexpr double kForget = 0.92;

// damping + damping^2 + ... + damping^steps
double damped_steps(int64_t steps) {
  return kDamping * (1 - std::pow(kDamping, static_cast<double>(steps))) / (1 - kDamping);
}

}  // namespace

void DampedTrend::observe(double value) {
  if (count_++ == 0) {
    level_ = value;
    return;
  }
  const double error = value - ahead(1);
  variance_ = count_ == 2 ? error * error : kForget * variance_ + (1 - kForget) * error * error;
  if (count_ > 2 && variance_ > 0) {
    const double agreement = std::clamp(last_error_ * error / variance_, -2.0, 2.0);
    gain_ = std::clamp(gain_ * std::exp(kGainRate * agreement), kMinGain, kMaxGain);
  }
  level_ = ahead(1) + gain_ * error;
  trend_ = kDamping * trend_ + kTrendShare * gain_ * error;
  last_error_ = error;
}

double DampedTrend::ahead(int64_t steps) const {
  return level_ + trend_ * damped_steps(steps);
}

double DampedTrend::deviation(int64_t steps) const {
  // Var = s^2 (1 + sum of c_j^2), c_j = gain (1 + share * damped_steps(j)): the moving-average form of the
  // method.
  double sum = 1;
  for (int64_t j = 1; j < std::min<int64_t>(steps, 1000); ++j) {
    const double c = gain_ * (1 + kTrendShare * damped_steps(j));
    sum += c * c;
  }
  return std::sqrt(variance_ * sum);
}

}  // namespace nereus::control
