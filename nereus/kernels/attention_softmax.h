#pragma once

#include "nereus/kernels/attention_tile.h"

// Softmax over tiles of keys, one after the other. Included only by files compiled once an instruction set.
namespace nereus::kernels::NEREUS_ISA {

inline constexpr int kScoreVectors = static_cast<int>(kTileKeys) / kWidth;
inline constexpr float kNothing = -__builtin_inff();

/// Hands out consecutive parts of the scratch memory, each aligned as the whole.
class Scratch {
 public:
  explicit Scratch(float* memory) : next_(memory) {}
  float* take(int64_t floats) {
    float* part = next_;
    next_ += (floats + 15) / 16 * 16;
    return part;
  }

 private:
  float* next_;
};

template <int... I>
[[gnu::always_inline]] inline IntVec lane_numbers(Lanes<I...>) {
  return IntVec{I...};
}

/// Scores [0, count) of a row of kTileKeys; the others become -inf.
[[gnu::always_inline]] inline void load_scores(const float* row, int64_t count,
                                               Vec (&scores)[kScoreVectors]) {
  const IntVec lane = lane_numbers(AllLanes{});
#pragma GCC unroll 16
  for (int j = 0; j < kScoreVectors; ++j) {
    const auto left = static_cast<int32_t>(count) - j * kWidth;
    scores[j] = lane < left ? load(row + j * kWidth) : splat(kNothing);
  }
}

/// One query's running softmax (Milakov & Gimelshein 2018): turns scores into weights relative to the largest
/// score so far and returns the factor for what was summed before.
[[gnu::always_inline]] inline float online_softmax(float* row, int64_t count, float& top, float& sum) {
  Vec scores[kScoreVectors];
  load_scores(row, count, scores);
  Vec high = scores[0];
#pragma GCC unroll 16
  for (int j = 1; j < kScoreVectors; ++j) high = larger(high, scores[j]);
  const float peak = max_lanes(high);
  const float raised = peak > top ? peak : top;
  Vec total = splat(0);
#pragma GCC unroll 16
  for (int j = 0; j < kScoreVectors; ++j) {
    const Vec weight = exponential(scores[j] - raised);
    total += weight;
    store(row + j * kWidth, weight);
  }
  const float factor = raised == top ? 1.0F : __builtin_expf(top - raised);
  sum = sum * factor + sum_lanes(total);
  top = raised;
  return factor;
}

/// out = sums / sum, for one query.
[[gnu::always_inline]] inline void write_output(const float* sums, float sum, int64_t head_dim, float* out) {
  const float inverse = 1.0F / sum;
  int64_t d = 0;
  for (; d + kWidth <= head_dim; d += kWidth) store(out + d, load(sums + d) * inverse);
  if (d < head_dim) store_part(out + d, load(sums + d) * inverse, head_dim - d);
}

}  // namespace nereus::kernels::NEREUS_ISA
