#include "nereus/runtime/actor.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <thread>

namespace nereus::runtime {
namespace {

int threads_here() {
  return at::get_num_threads();
}

// LibTorch's own count is one for the process, and a thread takes it over when it first computes.
TEST(UseThreads, AThreadKeepsItsCountWhateverOthersSet) {
  const int before = threads_here();
  int first = 0, second = 0;
  std::thread([&] {
    use_threads(2);
    std::thread([&] {
      use_threads(3);
      second = threads_here();
    }).join();
    first = threads_here();
  }).join();
  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 3);
  EXPECT_EQ(threads_here(), before);
  use_threads(before);  // threads of other tests begin with it
}

TEST(UseThreads, BothSidesGetSome) {
  const int before = threads_here();
  for (const auto& [all, asked, trainer, sampler] :
       {std::tuple{1, 0, 1, 1}, {2, 0, 1, 1}, {8, 0, 4, 4}, {8, 3, 5, 3}, {8, 20, 1, 7}, {3, 0, 2, 1}}) {
    use_threads(all);
    const ThreadShares shares = split_threads(asked);
    EXPECT_EQ(shares.trainer, trainer) << all << " " << asked;
    EXPECT_EQ(shares.sampler, sampler) << all << " " << asked;
  }
  use_threads(before);
}

}  // namespace
}  // namespace nereus::runtime
