#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "nereus/plan/combine.h"
#include "nereus/plan/device_class.h"
#include "nereus/plan/lower_bound.h"

namespace nereus::plan {

/// Some models with one option for each of their stages: seconds, and bytes by class of devices.
struct State {
  std::vector<const Option*> options;  ///< by stage of the job; null: of a model that is not in it
  const Option* generate = nullptr;
  double sync = 0;            ///< seconds
  double least = 0;           ///< seconds that a step takes with it at least
  LowerBound::Costs costs{};  ///< beyond the cheapest options
  std::vector<double> idle;   ///< [classes] while another model's stage runs
  std::vector<double> peak;   ///< [classes] in the fullest moment of its own stages
  std::vector<double> base;   ///< [classes] while it generates, without KV; empty where it does not
  std::vector<double> host;   ///< [hosts]
};

/// Two states of different models as one.
State join(const State& a, const State& b);

/// Keeps states that no other beats in time and in every byte. Not thread-safe.
class Front {
 public:
  /// `shared`: all stages take turns on the same devices, so that only sums of their times matter: that of
  /// all, or without inference where rewards run beside it.
  Front(const std::vector<Choices>& choices, bool shared, bool rewarded)
      : choices_(choices), shared_(shared), rewarded_(rewarded) {}
  /// The best come first, as far as that is known: what comes later is compared with all before it.
  void add(State state);
  size_t size() const { return states_.size(); }
  std::vector<State> take() { return std::move(states_); }

 private:
  /// All that a state is compared by.
  struct Measure {
    const Option* generate = nullptr;
    double sum = 0;  ///< of the bytes
    std::vector<double> values;
  };
  Measure measure_of(const State& state) const;
  static bool beats(const Measure& a, const Measure& b);

  const std::vector<Choices>& choices_;
  bool shared_, rewarded_;
  std::vector<State> states_;
  std::vector<Measure> measures_;
};

/// Makes the states of one model. Not thread-safe.
class StateMaker {
 public:
  StateMaker(const Pricing& pricing, const DeviceClasses& classes);

  /// Whether the two fit together as far as they go.
  bool has_room(const State& a, const State& b) const;
  /// Seconds in which what the model's training has changed reaches its other stages.
  double sync(const std::vector<const Option*>& options) const;
  /// Of the options of one model, by stage of the job; nothing where they do not fit.
  std::optional<State> make(std::vector<const Option*> options);

 private:
  /// What an option holds on a device of each class: its weights, all else between its turns and during its
  /// own, and 1 where it has a device. On each kind of host what leaves.
  struct ByClass {
    std::vector<double> weights, idle, running, there, host;
  };
  const ByClass& by_class(const Option& option);
  /// Bytes by class while `running` runs (null: while none does); classes where it has no device count 0.
  std::vector<double> bytes_during(const std::vector<const Option*>& options, const Option* running) const;
  std::vector<double> host_bytes(const std::vector<const Option*>& options) const;

  const Pricing& pricing_;
  const DeviceClasses& classes_;
  std::vector<double> room_, host_room_;  ///< with slack for rounding
  std::unordered_map<const Option*, ByClass> by_class_;
  std::vector<const ByClass*> held_;  ///< of the options at hand
};

}  // namespace nereus::plan
