#pragma once

#include <string>

#include "nereus/base/result.h"

namespace nereus::cli {

/// Becomes the program nereus-compute, which lies beside this one, as the same process and with the same
/// arguments. Its threads will spin briefly when they wait for each other (docs/decisions/spinning.md).
/// Returns only where that fails: the error names the program and `command`, which needs it.
Error become_compute_program(const std::string& command, char** argv);

/// Sets how long OpenMP's threads spin in a program that is started by this one, unless the environment says
/// so. Whether it was set.
bool spin_briefly();

/// Takes that out of the environment again: OpenMP has read it, and other programs that this one starts
/// should not. Call before there are threads.
void forget_spinning();

}  // namespace nereus::cli
