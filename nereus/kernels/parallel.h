#pragma once

#include <cstdint>
#include <utility>

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

/// The threads that run one function together.
struct Team {
  int64_t thread, threads;

  /// This thread's range of [0, count): its first index and the one after its last.
  std::pair<int64_t, int64_t> share(int64_t count) const {
    return {count * thread / threads, count * (thread + 1) / threads};
  }
  /// Until all threads are here. REQUIRES: each thread calls it as often.
  void wait() const {
#ifdef _OPENMP
    if (threads > 1) {
#pragma omp barrier
    }
#endif
  }
};

/// Calls f(first, last) on consecutive ranges that cover [0, count), one a thread. The ranges depend on the
/// number of threads, so f's results for an index may depend on that index alone.
template <class F>
void parallel_ranges(int64_t count, [[maybe_unused]] int64_t work_each, const F& f) {
#ifdef _OPENMP
  if (count > 1 && count * work_each > kSerialWork && omp_get_max_threads() > 1) {
#pragma omp parallel
    {
      const auto [first, last] = Team{omp_get_thread_num(), omp_get_num_threads()}.share(count);
      if (first < last) f(first, last);
    }
    return;
  }
#endif
  if (count > 0) f(int64_t{0}, count);
}

/// Calls f(team) on all threads where the work is worth waking them, else on this one alone.
template <class F>
void parallel_team([[maybe_unused]] int64_t work, const F& f) {
#ifdef _OPENMP
  if (work > kSerialWork && omp_get_max_threads() > 1) {
#pragma omp parallel
    f(Team{omp_get_thread_num(), omp_get_num_threads()});
    return;
  }
#endif
  f(Team{0, 1});
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
