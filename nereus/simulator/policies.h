#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/simulator/policy.h"
#include "nereus/simulator/proposals.h"
#include "nereus/simulator/scenario.h"

namespace nereus::simulator {

/// One line about a policy, for tables and help.
struct PolicyInfo {
  std::string_view name, what;
};
const std::vector<PolicyInfo>& known_policies();

/// Error: an unknown name, with those known.
Status check_policy(const std::string& name);

/// A new policy for one run. `seed` is of the oracle's knowledge only, and so are `proposals`, which runs of
/// one scenario share. Errors as check_policy. What is given outlives the policy.
Result<std::unique_ptr<Policy>> make_policy(const std::string& name, const Scenario& scenario, uint64_t seed,
                                            Proposals& proposals);

}  // namespace nereus::simulator
