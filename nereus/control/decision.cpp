#include "nereus/control/decision.h"

#include <array>

namespace nereus::control {

std::string_view name_of(Trigger trigger) {
  constexpr std::array<std::string_view, kTriggers> names = {"none",   "start", "lost",     "devices",
                                                             "memory", "drift", "cool_down"};
  return names[static_cast<size_t>(trigger)];
}

std::string_view name_of(Action action) {
  constexpr std::array<std::string_view, 3> names = {"stay", "change", "wait"};
  return names[static_cast<size_t>(action)];
}

OrderedJson to_json(const Decision& decision) {
  return {{"step", decision.step},
          {"action", name_of(decision.action)},
          {"trigger", name_of(decision.trigger)},
          {"forced", decision.forced},
          {"stay_s", decision.stay},
          {"predicted_s", decision.predicted},
          {"transition_s", decision.transition},
          {"observed_s", decision.observed},
          {"observed_transition_s", decision.observed_transition},
          {"reason", decision.reason},
          {"bound", decision.bound}};
}

}  // namespace nereus::control
