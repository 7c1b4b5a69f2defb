#pragma once

#include <array>
#include <cstdint>

namespace nereus {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four random words
/// for a counter and a key, without state, so that a value depends on its place alone and never on the order
/// or the number of threads that ask for it.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Place of a sampled token: the run's seed and where the token stands.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t prompt = 0;      ///< number of the prompt in the run's data stream
  uint32_t completion = 0;  ///< index in its group
  uint32_t position = 0;    ///< index of the token in the completion
};

/// Uniform in [0, 1), 53 bits (as many as a double holds).
double uniform(const RandomKey& key);

/// A stream of uniform values for shuffles and initial weights; value i depends on (seed, stream, i) only.
/// Not thread-safe.
class RandomStream {
 public:
  /// Begins with value `first`.
  RandomStream(uint64_t seed, uint64_t stream, uint64_t first = 0)
      : seed_(seed), stream_(stream), index_(first) {}
  uint64_t next();
  double uniform();                ///< [0, 1)
  uint64_t below(uint64_t bound);  ///< [0, bound), unbiased. REQUIRES: bound > 0
  double normal();                 ///< mean 0, deviation 1; takes two values

 private:
  uint64_t seed_, stream_, index_;
};

}  // namespace nereus
