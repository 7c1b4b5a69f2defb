#pragma once

#include <cstdint>

#include "nereus/kernels/panel_kernels.h"

namespace nereus::kernels {

/// Products of bf16 by bf16 with panels of 64 columns stored in pairs: [padded depth / 2, 64, 2], depth
/// padded with zeros to a multiple of 32. x is bf16 too, its rows padded likewise. Units as in PanelKernels.
struct PairKernels {
  int64_t (*units)(const PanelProduct& product) = nullptr;
  void (*multiply)(const PanelProduct& product, int64_t first_unit, int64_t last_unit) = nullptr;
};

/// The instructions for such products: sums of two products in vectors, or tiles of 16 × 16.
enum class PairIsa : uint8_t { avx512_bf16, amx };

/// REQUIRES: has_fast_bf16(), and for `amx` has_tiles().
const PairKernels& pair_kernels(PairIsa isa);

/// Whether this processor multiplies tiles of bf16 (AMX) and the system lets the process use them.
bool has_tiles();

namespace avx512_bf16 {
const PairKernels& pair_kernels();
}
namespace amx {
const PairKernels& pair_kernels();
}

}  // namespace nereus::kernels
