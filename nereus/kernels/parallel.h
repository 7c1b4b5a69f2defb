#pragma once

#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace nereus::kernels {

/// Work, in elements touched, below which waking the other threads costs more than it saves.
inline constexpr int64_t kSerialWork = 32768;
/// Multiply-adds within the cache that take as long as an element of row operations.
inline constexpr int64_t kProductsPerElement = 8;

inline int max_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/// Calls f(first, last) on consecutive ranges that cover [0, count), one a thread. The ranges depend on the
/// number of threads, so f's results for an index may depend on that index alone.
template <class F>
void parallel_ranges(int64_t count, [[maybe_unused]] int64_t work_each, const F& f) {
#ifdef _OPENMP
  if (count > 1 && count * work_each > kSerialWork && omp_get_max_threads() > 1) {
#pragma omp parallel
    {
      const int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
      const int64_t first = count * thread / threads, last = count * (thread + 1) / threads;
      if (first < last) f(first, last);
    }
    return;
  }
#endif
  if (count > 0) f(int64_t{0}, count);
}

/// Calls f(index, thread) for each index of [0, count), handed out in order as threads become free.
template <class F>
void parallel_tasks(int64_t count, [[maybe_unused]] int64_t total_work, const F& f) {
#ifdef _OPENMP
  if (count > 1 && total_work > kSerialWork && omp_get_max_threads() > 1) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t index = 0; index < count; ++index) f(index, omp_get_thread_num());
    return;
  }
#endif
  for (int64_t index = 0; index < count; ++index) f(index, 0);
}

}  // namespace nereus::kernels
