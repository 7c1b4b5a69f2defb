#pragma once

#include <memory>
#include <vector>

#include "nereus/kernels/matrix.h"

namespace nereus::kernels {

/// c = a · b + beta · c, fp32. Shapes [m, k] · [k, n]; c is row-major; beta is 0 or 1. Uses all OpenMP
/// threads; the result is the same for the same shapes and number of threads. Thread-safe.
void gemm(ConstMatrix a, ConstMatrix b, Matrix c, float beta = 0.0F,
          Precision precision = Precision::highest);

/// Weights of a linear layer, reordered once into the layout that the processor's matrix product reads
/// fastest. Immutable after construction, so thread-safe.
class PackedWeights {
 public:
  /// `weights` is [out, in]. The precision is that of products with fp32 weights.
  PackedWeights(ConstMatrix weights, Element element, Precision precision = Precision::highest);
  ~PackedWeights();
  PackedWeights(PackedWeights&&) noexcept;
  PackedWeights& operator=(PackedWeights&&) noexcept;

  /// y = x · Wᵀ + beta · y, x [m, in], y [m, out], both row-major with any row stride; beta is 0 or 1. With
  /// bf16 weights x is rounded to bf16 first; sums and y are fp32. With `high` precision and AMX a row of x
  /// or of the weights with an infinity or NaN makes what it contributes to NaN.
  void multiply(ConstMatrix x, Matrix y, float beta = 0.0F) const;

  int64_t out() const;
  int64_t in() const;
  int64_t bytes() const;  ///< held by the packed weights

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nereus::kernels
