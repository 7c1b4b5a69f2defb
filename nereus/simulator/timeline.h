#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nereus/simulator/availability.h"
#include "nereus/simulator/world.h"

namespace nereus::simulator {

/// Machines that go while something runs on them.
struct Loss {
  double time = 0;    ///< when the first of them goes
  double notice = 0;  ///< since when that is known; equal to `time` where it came without notice
  std::vector<int32_t> machines;
};

/// Which machines are there when, worked out before a run, so that every policy meets the same: the number
/// follows the trace, which ones leave is drawn by the seed, and any may fail. Immutable; thread-safe.
class Timeline {
 public:
  /// Up to `end` seconds.
  Timeline(const Availability& trace, int32_t machines, const WorldOptions& world, double end, uint64_t seed);

  /// Machines that can be used from `time` on: booted, and not about to leave.
  std::vector<int32_t> usable(double time) const;
  /// The first moment after `time` at which `usable` changes; infinite where it never does.
  double next_change(double time) const;
  /// The first loss among `used` in (from, to].
  std::optional<Loss> first_loss(const std::vector<int32_t>& used, double from, double to) const;

 private:
  struct Stay {
    double from = 0, to = 0;
    bool failed = false;
  };
  void follow(const Availability& trace, const WorldOptions& world, double end, uint64_t seed);
  void fail_some(const WorldOptions& world, double end, uint64_t seed);
  double known(const Stay& stay) const { return stay.failed ? stay.to : stay.to - notice_; }

  std::vector<std::vector<Stay>> stays_;  ///< by machine, in order
  std::vector<double> changes_;           ///< sorted
  double notice_;
};

}  // namespace nereus::simulator
