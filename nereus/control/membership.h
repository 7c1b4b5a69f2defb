#pragma once

#include "nereus/base/result.h"
#include "nereus/cluster/cluster.h"
#include "nereus/plan/plan.h"

namespace nereus::control {

/// Whether both have the same machines with the same devices, in the same order.
bool same_devices(const cluster::Cluster& a, const cluster::Cluster& b);

/// The plan with the numbers that its devices have in `now`; machines are told by their names, and of a
/// machine that has fewer devices the last are gone. Error: a device of the plan is gone; it is named.
Result<plan::Plan> carry_over(const plan::Plan& plan, const cluster::Cluster& before,
                              const cluster::Cluster& now);

}  // namespace nereus::control
