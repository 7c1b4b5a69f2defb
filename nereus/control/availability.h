#pragma once

#include <cstdint>

namespace nereus::control {

/// What is assumed of a cluster before any change was seen.
struct AvailabilityOptions {
  double interval = 4 * 3600;  ///< seconds between changes; weighs as much as one change that was seen
};

/// Forecast of how long the devices stay as they are. It promises nothing that is not there: devices that
/// have gone are not expected back, and a loss is bounded by the largest one seen. Not thread-safe.
class Availability {
 public:
  explicit Availability(AvailabilityOptions options = {}) : options_(options) {}

  /// `now` in seconds, never less than before.
  void observe(double now, int32_t devices);

  /// Expected seconds until the next change: changes come at a constant rate, whose estimate begins with the
  /// assumed one.
  double seconds_to_change() const;
  /// Devices that can be counted on until the change after the next: those present less the largest loss
  /// seen.
  int32_t least_devices() const;
  int64_t changes() const { return changes_; }

 private:
  AvailabilityOptions options_;
  double first_ = 0, last_ = 0;
  int32_t devices_ = -1, largest_loss_ = 0;
  int64_t changes_ = 0;
};

}  // namespace nereus::control
