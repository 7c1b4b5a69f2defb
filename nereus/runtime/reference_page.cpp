#include "nereus/runtime/reference_page.h"

#include "nereus/config/reference.h"
#include "nereus/runtime/job_keys.h"

namespace nereus::runtime {

namespace {

constexpr const char* kIntroduction = R"(# Configuration

A job file is TOML; `nereus train JOB.toml` reads it. A key is set on the command line by its full name,
`--train.learning_rate 1e-5`; keys of the first `[[reward]]` are `--reward.0.weight 2`, lists are `a,b,c`.
Unknown keys, values of the wrong type and values out of range are errors that name the line.

Relative paths in a file are relative to that file, paths on the command line to the working directory.
`nereus train JOB.toml --print-config` prints everything that the job decides, defaults too, as a job file;
the same text is written to `job.toml` in the run's folder.

This page is made by `nereus train --print-reference`.
)";

}  // namespace

std::string reference_page() {
  return kIntroduction + config::reference_tables(job_keys(), Job{}, "`[{}]`") +
         config::reference_tables(reward_keys(), RewardSection{}, "`[[{}]]`, one or more");
}

}  // namespace nereus::runtime
