#pragma once

#include <cstdint>

namespace nereus::tasks {

/// A random order of 0..size-1 of which any element is computed on its own: a balanced Feistel network over
/// the next power of four, walked until it falls inside (Black and Rogaway, "Ciphers with arbitrary finite
/// domains", CT-RSA 2002), with Philox as its round function. Depends on (size, seed, stream) only.
/// Thread-safe.
class Permutation {
 public:
  /// REQUIRES: 0 < size <= 2^62
  Permutation(uint64_t size, uint64_t seed, uint64_t stream);
  /// REQUIRES: index < size
  uint64_t operator()(uint64_t index) const;
  uint64_t size() const { return size_; }

 private:
  uint64_t size_, seed_, stream_;
  uint32_t half_bits_;
};

}  // namespace nereus::tasks
