#pragma once

#include <cstdint>

#include "nereus/base/result.h"
#include "nereus/control/damped_trend.h"
#include "nereus/plan/job.h"

namespace nereus::control {

/// What logs tell of a step's response lengths, in tokens.
struct LengthSummary {
  double mean = 0, max = 0;
  double clip_ratio = 0;  ///< share of the responses that were cut at the limit
  int64_t limit = 0;      ///< of generation
  int64_t samples = 0;    ///< responses of the step
};

/// The lognormal that has this mean and this share beyond the limit (or, where none was cut, this maximum),
/// as `count` equal quantiles. Error: values that no distribution has.
Result<plan::Lengths> lengths_of(const LengthSummary& summary, int64_t prompt, int32_t count = 256);

/// Share of the responses that reach the limit.
double clip_ratio(const plan::Lengths& lengths);

/// Forecasts the distribution of lengths: damped trends of the mean logarithm, of a high quantile and of
/// the maximum; the
/// shape between is that of the last step, stretched. What would be longer than the limit is cut there. Not
/// thread-safe.
class LengthForecast {
 public:
  /// REQUIRES: lengths.responses is sorted and not empty.
  void observe(const plan::Lengths& lengths);

  /// The lengths expected `steps` ahead. REQUIRES: something was observed.
  plan::Lengths ahead(int64_t steps) const;
  /// The same, longer by `deviations` standard deviations of the forecast.
  plan::Lengths ahead(int64_t steps, double deviations) const;
  int64_t count() const { return mean_.count(); }

 private:
  plan::Lengths last_;
  double last_mean_ = 0, last_high_ = 0;  // of the logarithms
  DampedTrend mean_, high_, longest_, prompt_;
};

}  // namespace nereus::control
