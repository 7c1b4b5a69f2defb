#pragma once

namespace nereus::runtime {

/// Sets how this process keeps freed memory and how long its threads spin when they wait for each other. What
/// the environment says of the latter (GOMP_SPINCOUNT, OMP_WAIT_POLICY) stays. `argv` is main's: OpenMP reads
/// its settings when it is loaded, so the program starts once more, as the same process. Call first in main.
void prepare_for_computing(char** argv);

}  // namespace nereus::runtime
