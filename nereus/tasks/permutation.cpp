#include "nereus/tasks/permutation.h"

#include <bit>

#include "nereus/base/random.h"

namespace nereus::tasks {
namespace {

constexpr uint32_t kRounds = 12;
constexpr uint32_t kPurpose = 0x5045524D;  // sets these values apart from others drawn with the same seed

}  // namespace

Permutation::Permutation(uint64_t size, uint64_t seed, uint64_t stream)
    : size_(size), seed_(seed), stream_(stream) {
  const auto bits = static_cast<uint32_t>(std::bit_width(size - 1));
  half_bits_ = bits < 2 ? 1 : (bits + 1) / 2;
}

uint64_t Permutation::operator()(uint64_t index) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t value = index;
  do {
    uint64_t left = value >> half_bits_, right = value & mask;
    for (uint32_t round = 0; round < kRounds; ++round) {
      const auto words =
          philox({static_cast<uint32_t>(right), round, static_cast<uint32_t>(stream_),
                  static_cast<uint32_t>(stream_ >> 32)},
                 {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32) ^ kPurpose});
      const uint64_t mixed = left ^ (words[0] & mask);
      left = right;
      right = mixed;
    }
    value = left << half_bits_ | right;
  } while (value >= size_);
  return value;
}

}  // namespace nereus::tasks
