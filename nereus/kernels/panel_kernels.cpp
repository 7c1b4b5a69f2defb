// Compiled once an instruction set, see CMakeLists.txt.
#include "nereus/kernels/panel_kernels.h"

#include "nereus/kernels/panel_block.h"

namespace nereus::kernels::NEREUS_ISA {
namespace {

/// Weights of type T, widened to float where they are not.
template <class T>
struct WideStep {
  using Input = float;
  using Stored = T;
  using Right = Vec;
  static constexpr int64_t kDepth = 1;
  [[gnu::always_inline]] static Vec right(const T* p) { return load(p); }
  [[gnu::always_inline]] static Vec left(const float* x) { return splat(*x); }
  [[gnu::always_inline]] static Vec add(Vec sum, Vec left, Vec right) { return sum + left * right; }
};

}  // namespace

const PanelKernels& panel_kernels() {
  static constexpr PanelKernels kernels{kPanel, panel_units, multiply_panels<WideStep<float>>,
                                        multiply_panels<WideStep<uint16_t>>};
  return kernels;
}

}  // namespace nereus::kernels::NEREUS_ISA
