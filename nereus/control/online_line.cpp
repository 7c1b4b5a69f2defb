#include "nereus/control/online_line.h"

#include <algorithm>
#include <cmath>

namespace nereus::control {
namespace {

// Of the constant and the slope of one first measurement: their sum is known better than either.
constexpr double kCorrelation = -0.9;
constexpr int64_t kTrusting = 4;  // measurements before any is called an outlier
constexpr double kDriftRate = 0.3, kNoiseRate = 0.08;
constexpr double kMinDrift = 1e-7, kMaxDrift = 0.1;
constexpr double kMinNoise = 0.003 * 0.003, kMaxNoise = 0.3 * 0.3;

}  // namespace

void OnlineLine::start(double work, double measured) {
  scale_ = work;
  line_ = {options_.constant * measured, (1 - options_.constant) * measured};
  const double variance = std::pow(options_.prior_deviation * measured, 2);
  covariance_ = {Pair{variance, kCorrelation * variance}, Pair{kCorrelation * variance, variance}};
  noise_ = options_.noise * options_.noise;
  drift_ = options_.drift * options_.drift;
}

double OnlineLine::at(double work) const {
  if (count_ == 0) return work;
  return line_[0] + line_[1] * work / scale_;
}

double OnlineLine::deviation(double work) const {
  if (count_ == 0) return options_.prior_deviation;
  const auto [one, x] = features(work);
  const double variance = covariance_[0][0] * one + 2 * covariance_[0][1] * x + covariance_[1][1] * x * x;
  return std::sqrt(std::max(variance, 0.0)) / at(work);
}

double OnlineLine::noise() const {
  return count_ == 0 ? options_.noise : std::sqrt(noise_);
}

// The line may have been multiplied by a factor of this relative variance.
void OnlineLine::inflate(double variance) {
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 2; ++j) covariance_[i][j] += variance * line_[i] * line_[j];
}

void OnlineLine::update(double error, double variance, const Pair& ph) {
  for (size_t i = 0; i < 2; ++i) line_[i] += ph[i] * error / variance;
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 2; ++j) covariance_[i][j] -= ph[i] * ph[j] / variance;
}

// Neither coefficient can be negative: where one is, the other takes its mean given that the first is 0.
void OnlineLine::keep_positive() {
  for (size_t i = 0; i < 2; ++i) {
    if (line_[i] >= 0) continue;
    const size_t other = 1 - i;
    line_[other] -= covariance_[0][1] / std::max(covariance_[i][i], 1e-300) * line_[i];
    line_[i] = 0;
  }
}

// At the right drift successive errors are uncorrelated; z is the error in deviations, z^2 has the mean 1.
void OnlineLine::learn_scales(double z) {
  drift_ *= std::exp(kDriftRate * std::clamp(last_z_ * z, -3.0, 3.0));
  drift_ = std::clamp(drift_, kMinDrift, kMaxDrift);
  noise_ += kNoiseRate * noise_ * (std::min(z * z, 6.0) - 1);
  noise_ = std::clamp(noise_, kMinNoise, kMaxNoise);
}

bool OnlineLine::observe(double work, double measured) {
  last_work_ = work;
  if (++count_ == 1) {
    start(work, measured);
    return true;
  }
  const Pair h = features(work);
  const double predicted = at(work), error = measured - predicted;
  auto project = [&] {
    return Pair{covariance_[0][0] * h[0] + covariance_[0][1] * h[1],
                covariance_[1][0] * h[0] + covariance_[1][1] * h[1]};
  };
  auto innovation = [&](const Pair& ph) {
    return ph[0] * h[0] + ph[1] * h[1] + noise_ * predicted * predicted;
  };

  const auto before = covariance_;
  inflate(drift_);
  Pair ph = project();
  double variance = innovation(ph), z = error / std::sqrt(variance);
  const bool same_side = set_aside_ && last_z_ * z > 0;
  if (count_ > kTrusting && std::abs(z) > options_.outlier && !same_side) {
    covariance_ = before;
    set_aside_ = true;
    last_z_ = z;
    return false;
  }
  if (same_side) {
    inflate(std::pow(error / predicted, 2));
    ph = project();
    variance = innovation(ph);
    z = error / std::sqrt(variance);
  } else if (count_ > 2) {
    learn_scales(z);
  }
  set_aside_ = false;
  update(error, variance, ph);
  keep_positive();
  last_z_ = z;
  return true;
}

}  // namespace nereus::control
