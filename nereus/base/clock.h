#pragma once

#include <chrono>

namespace nereus {

/// Time that only grows, so that a test can script it. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since some fixed moment.
  virtual double now() const = 0;
};

/// The machine's steady clock.
class SteadyClock final : public Clock {
 public:
  double now() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
};

/// Seconds since it was made or last restarted. Does not own the clock. Not thread-safe.
class Stopwatch {
 public:
  explicit Stopwatch(const Clock& clock) : clock_(clock), start_(clock.now()) {}
  double seconds() const { return clock_.now() - start_; }
  /// Seconds so far, and starts again: the parts of a step add up to the whole.
  double lap() {
    const double now = clock_.now(), passed = now - start_;
    start_ = now;
    return passed;
  }

 private:
  const Clock& clock_;
  double start_;
};

}  // namespace nereus
