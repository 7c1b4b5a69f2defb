#pragma once

#include <cstdint>

namespace nereus::control {

/// Forecast of a series by a level and a damped trend (Gardner and McKenzie, "Forecasting trends in time
/// series", 1985): the trend fades with the distance, so that a steep rise is not carried on for ever. The
/// gain of the level follows the series: it grows where successive errors agree in sign and falls where they
/// alternate. Not thread-safe.
class DampedTrend {
 public:
  void observe(double value);

  /// `steps` >= 0 after the last value; 0 before the first value.
  double ahead(int64_t steps) const;
  /// Standard deviation of the value `steps` >= 1 ahead.
  double deviation(int64_t steps) const;
  int64_t count() const { return count_; }

 private:
  double level_ = 0, trend_ = 0;
  double gain_ = 0.5;
  double variance_ = 0;  // of one step's error
  double last_error_ = 0;
  int64_t count_ = 0;
};

}  // namespace nereus::control
