#pragma once

#include <cstdint>

#include "nereus/kernels/isa.h"

namespace nereus::kernels {

/// Rows up to which reading the weights from memory, rather than multiplying, sets the pace: our kernels
/// fetch the next block of weights while they compute, oneDNN's do not.
inline constexpr int64_t kStreamedRows = 128;

/// y = x · W, or y += x · W, with W [depth, columns] stored in panels of `width` columns: panel p holds
/// columns [p · width, (p + 1) · width) as [padded depth, width], row by row; columns beyond the last are
/// zero.
struct PanelProduct {
  const void* x = nullptr;  ///< [rows, depth], fp32 where not said otherwise
  int64_t x_stride = 0, rows = 0, depth = 0;
  const void* panels = nullptr;
  int64_t panel_elements = 0;  ///< from one panel to the next
  float* y = nullptr;          ///< [rows, columns]
  int64_t y_stride = 0, columns = 0;
  bool accumulate = false;
};

/// Products with panels for one instruction set; serial and stateless. The work is cut into units, of which
/// each computes the same values whoever runs it.
struct PanelKernels {
  int64_t width = 0;
  int64_t (*units)(const PanelProduct& product) = nullptr;
  void (*multiply_f32)(const PanelProduct& product, int64_t first_unit, int64_t last_unit) = nullptr;
  /// Panels of bf16.
  void (*multiply_bf16)(const PanelProduct& product, int64_t first_unit, int64_t last_unit) = nullptr;
};

/// REQUIRES: this build has kernels of `isa` (see supported_isas).
const PanelKernels& panel_kernels(Isa isa);

namespace baseline {
const PanelKernels& panel_kernels();
}
namespace avx2 {
const PanelKernels& panel_kernels();
}
namespace avx512 {
const PanelKernels& panel_kernels();
}

}  // namespace nereus::kernels
