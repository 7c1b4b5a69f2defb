#pragma once

#include <optional>
#include <vector>

#include "nereus/plan/combine.h"
#include "nereus/plan/device_class.h"

namespace nereus::plan {

/// Some models with one option for each of their stages: seconds, and bytes by class of devices.
struct State {
  std::vector<const Option*> options;  ///< by stage of the job; null: of a model that is not in it
  const Option* generate = nullptr;
  double sync = 0;           ///< seconds
  std::vector<double> idle;  ///< [classes] while another model's stage runs
  std::vector<double> peak;  ///< [classes] in the fullest moment of its own stages
  std::vector<double> base;  ///< [classes] while it generates, without KV; empty where it does not
  std::vector<double> host;  ///< [hosts]
};

/// Two states of different models as one.
State join(const State& a, const State& b);

/// Keeps states that no other beats in time and in every byte. Not thread-safe.
class Front {
 public:
  /// `shared`: all stages take turns on the same devices, so that only sums of their times matter.
  Front(const std::vector<Choices>& choices, bool shared) : choices_(choices), shared_(shared) {}
  /// REQUIRES: states come in the order of ascending time.
  void add(State state);
  const std::vector<State>& states() const { return states_; }

 private:
  bool beats(size_t kept, const std::vector<double>& seconds, const State& state) const;
  std::vector<double> seconds_of(const State& state) const;

  const std::vector<Choices>& choices_;
  bool shared_;
  std::vector<State> states_;
  std::vector<std::vector<double>> seconds_;
};

/// Makes the states of one model. Not thread-safe.
class StateMaker {
 public:
  StateMaker(const Pricing& pricing, const DeviceClasses& classes);

  /// Whether it fits as far as it goes.
  bool has_room(const State& state) const;
  /// Seconds in which what the model's training has changed reaches its other stages.
  double sync(const std::vector<const Option*>& options);
  /// Of the options of one model, by stage of the job; nothing where they do not fit.
  std::optional<State> make(std::vector<const Option*> options);

 private:
  double sync(const Option& from, const Option& to);

  const Pricing& pricing_;
  const DeviceClasses& classes_;
  std::vector<double> room_, host_room_;  ///< with slack for rounding
};

}  // namespace nereus::plan
