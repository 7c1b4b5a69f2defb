#include "nereus/control/availability.h"

#include <algorithm>

namespace nereus::control {

void Availability::observe(double now, int32_t devices) {
  if (devices_ < 0) {
    first_ = now;
  } else if (devices != devices_) {
    ++changes_;
    largest_loss_ = std::max(largest_loss_, devices_ - devices);
  }
  devices_ = devices;
  last_ = now;
}

double Availability::seconds_to_change() const {
  return (options_.interval + last_ - first_) / static_cast<double>(1 + changes_);
}

int32_t Availability::least_devices() const {
  return std::max(0, devices_ - largest_loss_);
}

}  // namespace nereus::control
