// Compiled for AVX-512 with BF16 instructions, see CMakeLists.txt.
#include "nereus/kernels/pair_kernels.h"

#include <immintrin.h>

#include "nereus/kernels/panel_block.h"

namespace nereus::kernels::NEREUS_ISA {
namespace {

/// Two products at a time, as the instruction sums them.
struct PairStep {
  using Input = uint16_t;
  using Stored = uint16_t;
  using Right = __m512bh;
  static constexpr int64_t kDepth = 2;
  [[gnu::always_inline]] static __m512bh right(const uint16_t* p) {
    return __builtin_bit_cast(__m512bh, _mm512_loadu_si512(p));
  }
  [[gnu::always_inline]] static __m512bh left(const uint16_t* x) {
    int32_t pair = 0;
    __builtin_memcpy(&pair, x, sizeof pair);
    return __builtin_bit_cast(__m512bh, _mm512_set1_epi32(pair));
  }
  [[gnu::always_inline]] static Vec add(Vec sum, __m512bh left, __m512bh right) {
    return _mm512_dpbf16_ps(sum, left, right);
  }
};

}  // namespace

const PairKernels& pair_kernels() {
  static constexpr PairKernels kernels{panel_units, multiply_panels<PairStep>};
  return kernels;
}

}  // namespace nereus::kernels::NEREUS_ISA
