#pragma once

#include "nereus/base/clock.h"

namespace nereus::metrics {

/// A clock that a test turns.
class ManualClock final : public Clock {
 public:
  double now() const override { return time; }
  double time = 100;
};

}  // namespace nereus::metrics
