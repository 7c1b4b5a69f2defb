#pragma once

#include "nereus/base/result.h"
#include "nereus/runtime/job.h"

namespace nereus::runtime {

/// What no single key can check: keys that are missing, exclude or need one another. The error names them.
Status check_job(const Job& job);

}  // namespace nereus::runtime
