#pragma once

#include <cstdint>
#include <memory>

namespace nereus::kernels {

struct FreeMemory {
  void operator()(char* memory) const;
};
using Memory = std::unique_ptr<char, FreeMemory>;

/// Uninitialised memory aligned to 64 bytes, in huge pages where it is large and the system has them. Throws
/// std::bad_alloc.
Memory allocate(int64_t bytes);

}  // namespace nereus::kernels
