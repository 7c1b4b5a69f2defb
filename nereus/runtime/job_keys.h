#pragma once

#include "nereus/config/key_table.h"
#include "nereus/config/schema.h"
#include "nereus/runtime/job.h"

namespace nereus::runtime {

/// Every key of a job file but those of [[reward]], in the order of the reference page.
config::KeyTable<Job> job_keys();

/// Those of [lora], [train] and [grpo], a part of job_keys.
void add_training_keys(config::KeyTable<Job>& keys);

/// The keys of one [[reward]], named "reward.KEY".
config::KeyTable<RewardSection> reward_keys();

/// Both together: what a job file may say.
config::Schema<Job> job_schema();

}  // namespace nereus::runtime
