#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/simulator/policy.h"
#include "nereus/simulator/scenario.h"

namespace nereus::simulator {

/// One line about a policy, for tables and help.
struct PolicyInfo {
  std::string_view name, what;
};
const std::vector<PolicyInfo>& known_policies();

/// A new policy for one run. `seed` is of the oracle's knowledge only. Error: unknown names, with those
/// known.
Result<std::unique_ptr<Policy>> make_policy(const std::string& name, const Scenario& scenario, uint64_t seed);

}  // namespace nereus::simulator
