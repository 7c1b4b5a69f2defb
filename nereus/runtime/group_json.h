#pragma once

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/rollout/types.h"

namespace nereus::runtime {

/// A group without its prompt's tokens, which the data stream gives again. Log-probs keep all their bits.
Json group_json(const rollout::Group& group);
/// Error: names the key and what was expected.
Result<rollout::Group> group_from_json(const Json& json);

}  // namespace nereus::runtime
