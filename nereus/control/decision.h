#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "nereus/base/json.h"
#include "nereus/cluster/cluster.h"
#include "nereus/plan/plan.h"

namespace nereus::control {

/// What made the controller search for plans.
enum class Trigger : uint8_t {
  none,      ///< nothing did: no search
  start,     ///< there is no plan
  lost,      ///< a device of the plan has gone
  devices,   ///< devices came, or others than the plan's went
  memory,    ///< a predicted peak passes a device's memory within the coming steps
  drift,     ///< the predicted step differs from what it was at the last search
  cool_down  ///< one of the above, put off until the cool-down was over
};
inline constexpr size_t kTriggers = 7;
std::string_view name_of(Trigger trigger);

enum class Action : uint8_t {
  stay,
  change,
  wait  ///< no plan fits the devices that are left
};
std::string_view name_of(Action action);

/// What the coming step shall run, and why.
struct Decision {
  int64_t step = 0;  ///< the last step that was observed; -1: none
  Action action = Action::stay;
  Trigger trigger = Trigger::none;
  bool forced = false;      ///< no gain was asked for
  double stay = 0;          ///< seconds of the coming step under the plan that ran, 0: it can't run
  double predicted = 0;     ///< seconds of the coming step under the plan decided on
  double transition = 0;    ///< seconds predicted for the transition
  std::string reason = {};  ///< one sentence
  std::string bound = {};   ///< what bounded the step that led to a search: one sentence; "" without a search
  double observed = 0;      ///< what came of it: seconds of that step; 0: not known yet
  double observed_transition = 0;
};
/// One line of the log.
OrderedJson to_json(const Decision& decision);

/// Where transitions begin. `from` is null where nothing runs; its devices are numbered in `before`.
struct Origin {
  const cluster::Cluster& before;
  const plan::Plan* from;
  const cluster::Cluster& now;
};

/// Seconds of a transition to a plan on the devices that are there now, or the reason why it is refused. What
/// takes `limit` seconds or more is not wanted: it needs no exact price.
using TransitionPrice = std::function<Result<double>(const plan::Plan& to, double limit)>;

/// Asked for once a decision, which prices several transitions from one plan. What is given outlives the
/// price.
using TransitionCost = std::function<TransitionPrice(const Origin&)>;

}  // namespace nereus::control
