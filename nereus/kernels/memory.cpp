#include "nereus/kernels/memory.h"

#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace nereus::kernels {

void FreeMemory::operator()(char* memory) const {
  std::free(memory);
}

Memory allocate(int64_t bytes) {
  constexpr int64_t kHugePage = int64_t{2} << 20;
  const int64_t alignment = bytes >= kHugePage ? kHugePage : 64;
  const auto size = static_cast<size_t>((bytes + alignment - 1) / alignment * alignment);
  Memory memory(static_cast<char*>(std::aligned_alloc(static_cast<size_t>(alignment), size)));
  if (!memory) throw std::bad_alloc();
#ifdef __linux__
  if (bytes >= kHugePage) madvise(memory.get(), size, MADV_HUGEPAGE);
#endif
  return memory;
}

}  // namespace nereus::kernels
