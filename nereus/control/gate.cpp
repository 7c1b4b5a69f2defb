#include "nereus/control/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nereus::control {

Verdict judge(const Proposal& p, const GateOptions& options) {
  Verdict verdict{.horizon = std::min(p.steps_left, p.steps_to_change)};
  const double warm_up = options.warm_up_steps * p.change;
  verdict.saving = (p.stay - p.change) * verdict.horizon - p.transition - warm_up;
  const double gain = 1 - p.change / p.stay;
  const double least = 1 - p.change / p.stay * std::exp(options.confidence * p.deviation);
  const double needed = options.min_gain + p.widening;

  if (p.steps_since_change < options.cool_down) {
    verdict.reason =
        fmt::format("stay: {} of {} steps of cool-down are over", p.steps_since_change, options.cool_down);
  } else if (p.change >= p.stay) {
    verdict.reason = "stay: no other plan is faster";
  } else if (least < needed) {
    verdict.reason = fmt::format(
        "stay: the gain of {:.1f} % is at least {:.1f} %, less than the {:.1f} % it has to exceed",
        100 * gain, 100 * least, 100 * needed);
  } else if (verdict.saving <= options.margin_steps * p.stay) {
    verdict.reason = fmt::format(
        "stay: {:.1f} s a step over {:.0f} steps do not pay for {:.1f} s of transition and {:.1f} s of "
        "warm-up",
        p.stay - p.change, verdict.horizon, p.transition, warm_up);
  } else {
    verdict.change = true;
    verdict.reason = fmt::format(
        "change: {:.1f} s a step instead of {:.1f}, {:.0f} s saved over {:.0f} steps after {:.1f} s of "
        "transition",
        p.change, p.stay, verdict.saving, verdict.horizon, p.transition);
  }
  return verdict;
}

}  // namespace nereus::control
