#include "nereus/control/lengths.h"

#include <algorithm>
#include <cmath>

namespace nereus::control {
namespace {

constexpr double kHigh = 0.95;  // the high quantile

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

// The x with normal_cdf(x) = p, by bisection.
double normal_quantile(double p) {
  double low = -9, high = 9;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (normal_cdf(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

// A lognormal by the mean and deviation of the logarithm.
struct LogNormal {
  double mu = 0, sigma = 0;

  // E[min(X, cut)].
  double clipped_mean(double cut) const {
    const double z = (std::log(cut) - mu) / sigma;
    return std::exp(mu + sigma * sigma / 2) * normal_cdf(z - sigma) + cut * (1 - normal_cdf(z));
  }
};

// The one with `beyond` of its mass above `cut` and this mean after cutting: the mean falls as sigma grows.
LogNormal fit(double mean, double cut, double beyond) {
  const double z = normal_quantile(1 - beyond);
  auto of = [&](double sigma) { return LogNormal{std::log(cut) - sigma * z, sigma}; };
  double low = 1e-4, high = 6;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (of(middle).clipped_mean(cut) > mean ? low : high) = middle;
  }
  return of((low + high) / 2);
}

double log_length(int32_t length) {
  return std::log(std::max(length, 1));
}

double quantile_of_logs(const std::vector<int32_t>& sorted, double q) {
  return log_length(sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))]);
}

double mean_of_logs(const std::vector<int32_t>& lengths) {
  double sum = 0;
  for (int32_t length : lengths) sum += log_length(length);
  return sum / static_cast<double>(lengths.size());
}

}  // namespace

Result<plan::Lengths> lengths_of(const LengthSummary& summary, int64_t prompt, int32_t count) {
  const auto limit = static_cast<double>(summary.limit);
  const bool sane = summary.mean >= 1 && summary.mean <= summary.max && summary.max <= limit &&
                    summary.clip_ratio >= 0 && summary.clip_ratio < 1 && summary.samples > 0 && count > 0;
  if (!sane)
    return fail(
        "lengths: no distribution has mean {}, max {}, clip_ratio {}, limit {}, samples {}: expected 1 <= "
        "mean <= "
        "max <= limit and 0 <= clip_ratio < 1",
        summary.mean, summary.max, summary.clip_ratio, summary.limit, summary.samples);
  const double one = 1 / static_cast<double>(summary.samples + 1);
  const LogNormal shape = fit(summary.mean, summary.max, std::max(summary.clip_ratio, one));
  plan::Lengths lengths{.prompt = prompt, .responses = {}, .max_response = summary.limit};
  for (int32_t i = 0; i < count; ++i) {
    const double z = normal_quantile((i + 0.5) / count);
    const double length = std::min(std::exp(shape.mu + shape.sigma * z), summary.max);
    lengths.responses.push_back(std::max(1, static_cast<int32_t>(std::lround(length))));
  }
  // The longest response bounds generation: quantiles alone would miss it.
  lengths.responses.back() = static_cast<int32_t>(summary.max);
  return lengths;
}

double clip_ratio(const plan::Lengths& lengths) {
  if (lengths.responses.empty()) return 0;
  const auto cut = std::lower_bound(lengths.responses.begin(), lengths.responses.end(), lengths.max_response);
  return static_cast<double>(lengths.responses.end() - cut) / static_cast<double>(lengths.responses.size());
}

void LengthForecast::observe(const plan::Lengths& lengths) {
  last_ = lengths;
  last_mean_ = mean_of_logs(lengths.responses);
  last_high_ = quantile_of_logs(lengths.responses, kHigh);
  mean_.observe(last_mean_);
  high_.observe(last_high_);
  longest_.observe(log_length(lengths.responses.back()));
  prompt_.observe(static_cast<double>(lengths.prompt));
}

plan::Lengths LengthForecast::ahead(int64_t steps) const {
  return ahead(steps, 0);
}

// log l -> mean' + (log l - mean) * stretch, with which the mean and the high quantile become the forecasts.
plan::Lengths LengthForecast::ahead(int64_t steps, double deviations) const {
  const double mean = mean_.ahead(steps) + deviations * mean_.deviation(steps);
  const double high = high_.ahead(steps) + deviations * high_.deviation(steps);
  const double spread = last_high_ - last_mean_;
  const double stretch = spread > 1e-6 ? std::clamp((high - mean) / spread, 0.0, 2.0) : 1.0;
  plan::Lengths result = last_;
  result.prompt = std::max<int64_t>(1, std::llround(prompt_.ahead(steps)));
  auto cut = [&](double length) {
    return static_cast<int32_t>(std::clamp(std::round(length), 1.0, static_cast<double>(last_.max_response)));
  };
  for (int32_t& length : result.responses)
    length = cut(std::exp(mean + (log_length(length) - last_mean_) * stretch));
  // The one that generation waits for in the end: it varies more than the rest, and is often the limit.
  const double longest = longest_.ahead(steps) + deviations * longest_.deviation(steps);
  int32_t& last = result.responses.back();
  last = std::max(cut(std::exp(longest)), result.responses.size() > 1 ? *(&last - 1) : 1);
  return result;
}

}  // namespace nereus::control
