#include "nereus/runtime/process.h"

#include <malloc.h>

namespace nereus::runtime {

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace nereus::runtime
