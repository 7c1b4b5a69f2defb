#include "nereus/runtime/process.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdlib>

namespace nereus::runtime {
namespace {

/// glibc gives large blocks back at once, and the page faults of taking them again dominate elementwise work.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/// GCC's OpenMP spins up to 12 ms at the end of each loop. Where another program runs, that takes the
/// processor from the very threads that are waited for; 0.4 ms are enough for loops that follow one another.
/// See docs/decisions/spinning.md.
void spin_briefly([[maybe_unused]] char** argv) {
#ifdef __linux__
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (setenv("GOMP_SPINCOUNT", "10000", 1) == 0) execv("/proc/self/exe", argv);  // goes on where it fails
#endif
}

}  // namespace

void prepare_for_computing(char** argv) {
  spin_briefly(argv);
  keep_freed_memory();
}

}  // namespace nereus::runtime
