#pragma once

// Vectors of the widest registers of one instruction set, on the compiler's vector extension. Included only
// by files that are compiled once an instruction set: NEREUS_ISA is the namespace that keeps the copies
// apart. Such files call no inline function of the standard library, since the linker would keep one copy for
// all.

#include <cstdint>

namespace nereus::kernels::NEREUS_ISA {

#if defined(__AVX512F__)
inline constexpr int kWidth = 16;
#elif defined(__AVX2__)
inline constexpr int kWidth = 8;
#else
inline constexpr int kWidth = 4;
#endif

using Vec = float __attribute__((vector_size(kWidth * 4)));
using IntVec = int32_t __attribute__((vector_size(kWidth * 4)));
using UintVec = uint32_t __attribute__((vector_size(kWidth * 4)));
using HalfVec = uint16_t __attribute__((vector_size(kWidth * 2)));
using DoubleVec = double __attribute__((vector_size(kWidth * 8)));

template <int... I>
struct Lanes {};
template <int N, int... I>
struct MakeLanes : MakeLanes<N - 1, N - 1, I...> {};
template <int... I>
struct MakeLanes<0, I...> {
  using type = Lanes<I...>;
};
using AllLanes = typename MakeLanes<kWidth>::type;

[[gnu::always_inline]] inline Vec splat(float x) {
  return x - Vec{};
}

[[gnu::always_inline]] inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
[[gnu::always_inline]] inline void store(float* p, Vec v) {
  __builtin_memcpy(p, &v, sizeof v);
}

/// The first `count` (below kWidth) lanes; the others are `fill`.
[[gnu::always_inline]] inline Vec load_part(const float* p, int64_t count, float fill = 0) {
  Vec v = splat(fill);
  for (int lane = 0; lane < kWidth; ++lane) {
    if (lane < count) v[lane] = p[lane];
  }
  return v;
}
[[gnu::always_inline]] inline void store_part(float* p, Vec v, int64_t count) {
  for (int lane = 0; lane < kWidth; ++lane) {
    if (lane < count) p[lane] = v[lane];
  }
}

/// bf16 to float: the upper half of its bits.
[[gnu::always_inline]] inline Vec load(const uint16_t* p) {
  HalfVec half;
  __builtin_memcpy(&half, p, sizeof half);
  return __builtin_bit_cast(Vec, __builtin_convertvector(half, UintVec) << 16);
}
[[gnu::always_inline]] inline Vec load_part(const uint16_t* p, int64_t count) {
  HalfVec half{};
  for (int lane = 0; lane < kWidth; ++lane) {
    if (lane < count) half[lane] = p[lane];
  }
  return __builtin_bit_cast(Vec, __builtin_convertvector(half, UintVec) << 16);
}

/// float to bf16, to nearest even; a NaN stays one.
[[gnu::always_inline]] inline HalfVec round_to_bf16(Vec v) {
  const UintVec bits = __builtin_bit_cast(UintVec, v);
  const UintVec rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const UintVec quiet = (bits >> 16) | 0x40;
  return __builtin_convertvector(v == v ? rounded : quiet, HalfVec);
}

[[gnu::always_inline]] inline Vec larger(Vec a, Vec b) {
  return a > b ? a : b;
}

template <int Shift, int... I>
[[gnu::always_inline]] inline Vec rotated(Vec v, Lanes<I...>) {
  return __builtin_shufflevector(v, v, ((I + Shift) % kWidth)...);
}

/// Sum, or largest, of the lanes.
[[gnu::always_inline]] inline float sum_lanes(Vec v) {
  if constexpr (kWidth > 8) v += rotated<8 % kWidth>(v, AllLanes{});
  if constexpr (kWidth > 4) v += rotated<4 % kWidth>(v, AllLanes{});
  v += rotated<2>(v, AllLanes{});
  v += rotated<1>(v, AllLanes{});
  return v[0];
}
[[gnu::always_inline]] inline float max_lanes(Vec v) {
  if constexpr (kWidth > 8) v = larger(v, rotated<8 % kWidth>(v, AllLanes{}));
  if constexpr (kWidth > 4) v = larger(v, rotated<4 % kWidth>(v, AllLanes{}));
  v = larger(v, rotated<2>(v, AllLanes{}));
  v = larger(v, rotated<1>(v, AllLanes{}));
  return v[0];
}

inline constexpr float kLowestExponent = -87.336F, kHighestExponent = 88.37F;

/// eˣ for x in [kLowestExponent, kHighestExponent] with a relative error below 3e-7; a NaN stays one. The
/// remainder of x by ln 2, in two parts, goes through a minimax polynomial, and 2ⁿ into the exponent's bits.
[[gnu::always_inline]] inline Vec exponential_within(Vec x) {
  const float shift = 12582912.0F;  // 1.5 · 2²³: adding it rounds to an integer, which lies in the low bits
  const Vec shifted = x * 1.44269504F + shift;
  const Vec n = shifted - shift;
  const Vec r = x - n * 0.693359375F - n * -2.12194440e-4F;
  Vec p = splat(8.290272e-3F);
  p = p * r + 4.189816e-2F;
  p = p * r + 1.6667639e-1F;
  p = p * r + 4.9999148e-1F;
  p = p * r + 9.999997e-1F;
  p = p * r + 1.0F;
  const UintVec exponent = __builtin_bit_cast(UintVec, shifted) << 23;
  return __builtin_bit_cast(Vec, __builtin_bit_cast(UintVec, p) + exponent);
}

/// eˣ for x ≤ 0, kept above e^kLowestExponent.
[[gnu::always_inline]] inline Vec exponential_of_negative(Vec x) {
  return exponential_within(x < kLowestExponent ? splat(kLowestExponent) : x);
}

/// eˣ for any x: 0 below kLowestExponent, e^kHighestExponent above that.
[[gnu::always_inline]] inline Vec exponential(Vec x) {
  const Vec above = x < kLowestExponent ? splat(kLowestExponent) : x;
  const Vec result = exponential_within(above > kHighestExponent ? splat(kHighestExponent) : above);
  return x < kLowestExponent ? splat(0) : result;
}

}  // namespace nereus::kernels::NEREUS_ISA
