#pragma once

#include <cstdint>

namespace nereus::spec {

/// Largest sizes that a file may claim: far above any model, and small enough that no product of them
/// overflows 64 bits.
inline constexpr int64_t kMaxVocab = int64_t{1} << 26;
inline constexpr int64_t kMaxWidth = int64_t{1} << 22;
inline constexpr int64_t kMaxLayers = 4096;
inline constexpr int64_t kMaxHeads = 4096;
inline constexpr int64_t kMaxHeadDim = 4096;
inline constexpr int64_t kMaxContext = int64_t{1} << 31;

}  // namespace nereus::spec
