#pragma once

#include "nereus/runtime/job.h"
#include "nereus/runtime/key_table.h"

namespace nereus::runtime {

/// Every key of a job file but those of [[reward]], in the order of the reference page.
KeyTable<Job> job_keys();

/// Those of [lora], [train] and [grpo], a part of job_keys.
void add_training_keys(KeyTable<Job>& keys);

/// The keys of one [[reward]], named "reward.KEY".
KeyTable<RewardSection> reward_keys();

}  // namespace nereus::runtime
