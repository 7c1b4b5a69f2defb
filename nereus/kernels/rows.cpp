#include "nereus/kernels/rows.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "nereus/kernels/parallel.h"
#include "nereus/kernels/row_kernels.h"

namespace nereus::kernels {
namespace {

const RowKernels& best() {
  static const RowKernels& kernels = row_kernels(best_isa());
  return kernels;
}

template <class T>
T* row(MatrixView<T> matrix, int64_t i) {
  return matrix.data + i * matrix.row_stride;
}

// Rough costs in units of one element touched.
constexpr int64_t kExponential = 4;

}  // namespace

const RowKernels& row_kernels(Isa isa) {
#ifdef __x86_64__
  if (isa == Isa::avx512) return avx512::row_kernels();
  if (isa == Isa::avx2) return avx2::row_kernels();
#endif
  return baseline::row_kernels();
}

void rms_norm(ConstMatrix x, const float* weight, float eps, Matrix y, float* inverse_rms) {
  parallel_ranges(x.rows, 2 * x.cols, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const float inverse = best().rms_norm(row(x, i), weight, eps, x.cols, row(y, i));
      if (inverse_rms != nullptr) inverse_rms[i] = inverse;
    }
  });
}

void rms_norm_backward(ConstMatrix x, const float* weight, const float* inverse_rms, ConstMatrix dy,
                       Matrix dx, float* dweight) {
  // Before dx, which may overwrite dy. By stretches of columns: each sum runs over the rows in order.
  constexpr int64_t kStretch = 64;
  if (dweight != nullptr) {
    parallel_ranges((x.cols + kStretch - 1) / kStretch, kStretch * x.rows, [&](int64_t first, int64_t last) {
      const int64_t start = first * kStretch, end = std::min(last * kStretch, x.cols);
      for (int64_t i = 0; i < x.rows; ++i) {
        best().add_scaled(row(x, i) + start, row(dy, i) + start, inverse_rms[i], end - start,
                          dweight + start);
      }
    });
  }
  parallel_ranges(x.rows, 3 * x.cols, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      best().rms_norm_backward(row(x, i), weight, inverse_rms[i], row(dy, i), x.cols, row(dx, i));
    }
  });
}

void rotary(Matrix x, int64_t heads, int64_t head_dim, const int32_t* positions, const float* frequencies,
            int direction) {
  const int64_t half = head_dim / 2;
  parallel_ranges(x.rows, 2 * heads * head_dim, [&](int64_t first, int64_t last) {
    std::vector<float> sines(static_cast<size_t>(half)), cosines(static_cast<size_t>(half));
    for (int64_t i = first; i < last; ++i) {
      best().sin_cos(static_cast<float>(positions[i]), frequencies, half, sines.data(), cosines.data());
      for (int64_t head = 0; head < heads; ++head) {
        best().rotate(row(x, i) + head * head_dim, half, sines.data(), cosines.data(),
                      direction < 0 ? -1.0F : 1.0F);
      }
    }
  });
}

void swiglu(ConstMatrix gate_up, Matrix y) {
  parallel_ranges(y.rows, kExponential * y.cols, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      best().swiglu(row(gate_up, i), row(gate_up, i) + y.cols, y.cols, row(y, i));
    }
  });
}

void swiglu_backward(ConstMatrix gate_up, ConstMatrix dy, Matrix dgate_up) {
  parallel_ranges(dy.rows, kExponential * dy.cols, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      best().swiglu_backward(row(gate_up, i), row(gate_up, i) + dy.cols, row(dy, i), dy.cols,
                             row(dgate_up, i), row(dgate_up, i) + dy.cols);
    }
  });
}

void embedding(ConstMatrix table, const int32_t* ids, Matrix out) {
  parallel_ranges(out.rows, out.cols, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      std::memcpy(row(out, i), row(table, ids[i]), static_cast<size_t>(out.cols) * sizeof(float));
    }
  });
}

void embedding_backward(const int32_t* ids, ConstMatrix dout, Matrix dtable) {
  constexpr int64_t kStretch = 64;
  parallel_ranges(
      (dout.cols + kStretch - 1) / kStretch, kStretch * dout.rows, [&](int64_t first, int64_t last) {
        const int64_t start = first * kStretch, end = std::min(last * kStretch, dout.cols);
        for (int64_t i = 0; i < dout.rows; ++i) {
          best().add_scaled(row(dout, i) + start, nullptr, 1.0F, end - start, row(dtable, ids[i]) + start);
        }
      });
}

void chosen_logprob(ConstMatrix logits, const int32_t* targets, float inverse_temperature, float* logprob,
                    float* logsumexp, float* entropy) {
  parallel_ranges(logits.rows, kExponential * logits.cols, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const auto found = best().distribution(row(logits, i), inverse_temperature, logits.cols);
      logprob[i] = row(logits, i)[targets[i]] * inverse_temperature - found.logsumexp;
      if (logsumexp != nullptr) logsumexp[i] = found.logsumexp;
      if (entropy != nullptr) entropy[i] = found.entropy;
    }
  });
}

void chosen_logprob_backward(Matrix logits, const int32_t* targets, float inverse_temperature,
                             const float* logsumexp, const float* dlogprob, const float* entropy,
                             const float* dentropy) {
  const bool entropic = entropy != nullptr && dentropy != nullptr;
  parallel_ranges(logits.rows, kExponential * logits.cols, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const float slope = entropic ? -inverse_temperature * dentropy[i] : 0.0F;
      const float offset = -inverse_temperature * dlogprob[i] + (entropic ? slope * entropy[i] : 0.0F);
      best().distribution_backward(row(logits, i), inverse_temperature, logsumexp[i], offset, slope,
                                   logits.cols);
      row(logits, i)[targets[i]] += inverse_temperature * dlogprob[i];
    }
  });
}

void softmax(Matrix logits, const float* inverse_temperatures) {
  parallel_ranges(logits.rows, 2 * kExponential * logits.cols, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const float inverse = inverse_temperatures[i];
      const float logsumexp = best().distribution(row(logits, i), inverse, logits.cols).logsumexp;
      best().distribution_backward(row(logits, i), inverse, logsumexp, 1.0F, 0.0F, logits.cols);
    }
  });
}

void low_rank_add(ConstMatrix x, ConstMatrix a_transposed, ConstMatrix b_transposed, float scale, Matrix y) {
  const int64_t rank = a_transposed.cols, inner_row = (rank + 15) / 16 * 16;
  // 1/8: a multiply-add of a product that stays in the cache against an element read from memory.
  const int64_t work = rank * (x.cols + y.cols) / 8;
  parallel_ranges(x.rows, work, [&](int64_t first, int64_t last) {
    constexpr int64_t kRows = 48;
    std::vector<float> inner(static_cast<size_t>(inner_row * std::min(kRows, last - first)));
    for (int64_t start = first; start < last; start += kRows) {
      const int64_t rows = std::min(kRows, last - start);
      best().low_rank_add({row(x, start), rows, x.cols, x.row_stride}, a_transposed, b_transposed, scale,
                          inner.data(), {row(y, start), rows, y.cols, y.row_stride});
    }
  });
}

void adamw(float* weights, const float* grads, float* m, float* v, int64_t n, const AdamStep& step) {
  constexpr int64_t kStretch = 4096;
  parallel_ranges((n + kStretch - 1) / kStretch, 4 * kStretch, [&](int64_t first, int64_t last) {
    const int64_t start = first * kStretch, end = std::min(last * kStretch, n);
    best().adamw(weights + start, grads + start, m + start, v + start, end - start, step);
  });
}

double sum_of_squares(const float* x, int64_t n) {
  constexpr int64_t kStretch = 16384;
  const int64_t stretches = (n + kStretch - 1) / kStretch;
  std::vector<double> sums(static_cast<size_t>(stretches));
  parallel_ranges(stretches, kStretch, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t start = i * kStretch;
      sums[static_cast<size_t>(i)] = best().sum_of_squares(x + start, std::min(kStretch, n - start));
    }
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

void to_bf16(ConstMatrix x, uint16_t* y, int64_t y_row_stride) {
  parallel_ranges(x.rows, x.cols, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) best().to_bf16(row(x, i), x.cols, y + i * y_row_stride);
  });
}

}  // namespace nereus::kernels
