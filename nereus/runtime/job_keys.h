#pragma once

#include "nereus/runtime/job.h"
#include "nereus/runtime/key_table.h"

namespace nereus::runtime {

/// Every key of a job file but those of [[reward]], in the order of the reference page.
KeyTable<Job> job_keys();

/// The keys of one [[reward]], named "reward.KEY".
KeyTable<RewardSection> reward_keys();

}  // namespace nereus::runtime
