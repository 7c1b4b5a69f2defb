#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::config {

/// `--key value` of the command line: ("train.learning_rate", "1e-5"). "reward.0.weight" is that of the
/// first [[reward]].
using Overrides = std::vector<std::pair<std::string, std::string>>;

/// Takes `--section.key value` and `--section.key=value` out of the arguments: names with a dot are keys of
/// the job, all others are left. Error: a key without a value.
Result<Overrides> take_overrides(std::vector<std::string>& arguments);

}  // namespace nereus::config
