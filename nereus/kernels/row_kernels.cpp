// Compiled once an instruction set, see CMakeLists.txt.
#include "nereus/kernels/row_kernels.h"

#include "nereus/kernels/product.h"

namespace nereus::kernels::NEREUS_ISA {
namespace {

/// Calls f(index, lanes) for whole vectors and then for the rest of n.
template <class F>
[[gnu::always_inline]] inline void each_vector(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) f(i, int64_t{kWidth});
  if (i < n) f(i, n - i);
}
[[gnu::always_inline]] inline Vec load_upto(const float* p, int64_t lanes, float fill = 0) {
  return lanes == kWidth ? load(p) : load_part(p, lanes, fill);
}
[[gnu::always_inline]] inline void store_upto(float* p, Vec v, int64_t lanes) {
  if (lanes == kWidth) return store(p, v);
  store_part(p, v, lanes);
}

float rms_norm(const float* x, const float* weight, float eps, int64_t n, float* y) {
  Vec squares = splat(0);
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const Vec v = load_upto(x + i, lanes);
    squares += v * v;
  });
  const float inverse = 1.0F / __builtin_sqrtf(sum_lanes(squares) / static_cast<float>(n) + eps);
  each_vector(n, [&](int64_t i, int64_t lanes) {
    store_upto(y + i, load_upto(x + i, lanes) * inverse * load_upto(weight + i, lanes), lanes);
  });
  return inverse;
}

// With x̂ = x · r: dx = r · (dy · w − x̂ · mean(dy · w · x̂)).
void rms_norm_backward(const float* x, const float* weight, float inverse_rms, const float* dy, int64_t n,
                       float* dx) {
  Vec dots = splat(0);
  each_vector(n, [&](int64_t i, int64_t lanes) {
    dots += load_upto(dy + i, lanes) * load_upto(weight + i, lanes) * load_upto(x + i, lanes);
  });
  const float pull = sum_lanes(dots) * inverse_rms * inverse_rms / static_cast<float>(n);
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const Vec direct = load_upto(dy + i, lanes) * load_upto(weight + i, lanes);
    store_upto(dx + i, inverse_rms * (direct - load_upto(x + i, lanes) * pull), lanes);
  });
}

void add_scaled(const float* x, const float* z, float scale, int64_t n, float* y) {
  each_vector(n, [&](int64_t i, int64_t lanes) {
    Vec term = load_upto(x + i, lanes);
    if (z != nullptr) term = term * load_upto(z + i, lanes);
    store_upto(y + i, load_upto(y + i, lanes) + scale * term, lanes);
  });
}

/// sin and cos of |x| up to about 1e9: the remainder of π/2 in double, then the polynomials of Cephes' sinf
/// and cosf on [−π/4, π/4].
[[gnu::always_inline]] inline void sin_cos_vector(Vec x, Vec& sine, Vec& cosine) {
  const DoubleVec wide = __builtin_convertvector(x, DoubleVec);
  const double shift = 6755399441055744.0;  // 1.5 * 2^52
  const DoubleVec quarters = (wide * 0.63661977236758134 + shift) - shift;
  const Vec r = __builtin_convertvector(wide - quarters * 1.5707963267948966, Vec);
  const IntVec quadrant = __builtin_convertvector(quarters, IntVec);
  const Vec r2 = r * r;
  const Vec s = ((-1.9515295891e-4F * r2 + 8.3321608736e-3F) * r2 - 1.6666654611e-1F) * r2 * r + r;
  const Vec c =
      ((2.443315711809948e-5F * r2 - 1.388731625493765e-3F) * r2 + 4.166664568298827e-2F) * r2 * r2 -
      0.5F * r2 + 1.0F;
  const IntVec swapped = (quadrant & 1) != 0;
  sine = swapped ? c : s;
  cosine = swapped ? s : c;
  sine = (quadrant & 2) != 0 ? -sine : sine;
  cosine = ((quadrant + 1) & 2) != 0 ? -cosine : cosine;
}

void sin_cos(float position, const float* frequencies, int64_t n, float* sines, float* cosines) {
  each_vector(n, [&](int64_t i, int64_t lanes) {
    Vec sine, cosine;
    sin_cos_vector(position * load_upto(frequencies + i, lanes), sine, cosine);
    store_upto(sines + i, sine, lanes);
    store_upto(cosines + i, cosine, lanes);
  });
}

void rotate(float* x, int64_t half, const float* sines, const float* cosines, float sign) {
  each_vector(half, [&](int64_t i, int64_t lanes) {
    const Vec first = load_upto(x + i, lanes), second = load_upto(x + half + i, lanes);
    const Vec sine = sign * load_upto(sines + i, lanes), cosine = load_upto(cosines + i, lanes);
    store_upto(x + i, first * cosine - second * sine, lanes);
    store_upto(x + half + i, second * cosine + first * sine, lanes);
  });
}

void swiglu(const float* gate, const float* up, int64_t n, float* y) {
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const Vec g = load_upto(gate + i, lanes);
    store_upto(y + i, g / (1.0F + exponential(-g)) * load_upto(up + i, lanes), lanes);
  });
}

void swiglu_backward(const float* gate, const float* up, const float* dy, int64_t n, float* dgate,
                     float* dup) {
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const Vec g = load_upto(gate + i, lanes), u = load_upto(up + i, lanes), d = load_upto(dy + i, lanes);
    const Vec sigmoid = 1.0F / (1.0F + exponential(-g));
    store_upto(dgate + i, d * u * sigmoid * (1.0F + g * (1.0F - sigmoid)), lanes);
    store_upto(dup + i, d * g * sigmoid, lanes);
  });
}

/// Running sums over one row: of e^(z − top) and of that times (z − top).
struct Softmax {
  float top = -__builtin_inff();
  float sum = 0, weighted = 0;

  void raise(float to) {
    if (!(to > top)) return;
    const float fall = top == -__builtin_inff() ? 0 : __builtin_expf(top - to);
    weighted = sum > 0 ? fall * (weighted + sum * (top - to)) : 0;
    sum *= fall;
    top = to;
  }
};

float largest(const float* x, int64_t n) {
  const float lowest = -__builtin_inff();
  Vec high[4] = {splat(lowest), splat(lowest), splat(lowest), splat(lowest)};
  int64_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) high[j] = larger(load(x + i + j * kWidth), high[j]);
  }
  each_vector(n - i, [&](int64_t k, int64_t lanes) {
    high[0] = larger(load_upto(x + i + k, lanes, lowest), high[0]);
  });
  return max_lanes(larger(larger(high[0], high[1]), larger(high[2], high[3])));
}

RowDistribution distribution(const float* logits, float inverse_temperature, int64_t n) {
  constexpr int64_t kStretch = 2048;  // read twice, the second time from the first-level cache
  const float lowest = -__builtin_inff();
  Softmax row;
  for (int64_t start = 0; start < n; start += kStretch) {
    const int64_t length = n - start < kStretch ? n - start : kStretch;
    row.raise(largest(logits + start, length) * inverse_temperature);
    Vec sum = splat(0), weighted = splat(0);
    each_vector(length, [&](int64_t i, int64_t lanes) {
      __builtin_prefetch(logits + start + kStretch + i);  // the next stretch, while this one is summed
      const Vec z = load_upto(logits + start + i, lanes, lowest) * inverse_temperature - row.top;
      // e^kLowestExponent in place of smaller terms is nothing beside the largest, which is 1.
      const Vec below = z < kLowestExponent ? splat(kLowestExponent) : z;
      const Vec e = exponential_within(below);
      sum += e;
      weighted += e * below;
    });
    row.sum += sum_lanes(sum);
    row.weighted += sum_lanes(weighted);
  }
  const float log_sum = __builtin_logf(row.sum);
  return {row.top + log_sum, log_sum - row.weighted / row.sum};
}

void distribution_backward(float* logits, float inverse_temperature, float logsumexp, float offset,
                           float slope, int64_t n) {
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const Vec log_p = load_upto(logits + i, lanes) * inverse_temperature - logsumexp;
    const Vec p = exponential(log_p);
    store_upto(logits + i, p == 0.0F ? splat(0) : p * (offset + slope * log_p), lanes);
  });
}

/// The last columns of a product, where they fill no vector.
void product_rest(int64_t rows, int64_t depth, int64_t lanes, Factor a, const float* b, int64_t b_row,
                  float* c, int64_t c_row, bool accumulate) {
  for (int64_t i = 0; i < rows; ++i) {
    Vec sum = accumulate ? load_part(c + i * c_row, lanes) : splat(0);
    for (int64_t k = 0; k < depth; ++k) {
      sum += a.data[i * a.row + k * a.col] * load_part(b + k * b_row, lanes);
    }
    store_part(c + i * c_row, sum, lanes);
  }
}

void any_product(int64_t rows, int64_t depth, int64_t cols, Factor a, const float* b, int64_t b_row, float* c,
                 int64_t c_row, bool accumulate) {
  const int64_t whole = cols / kWidth * kWidth;
  product(rows, depth, whole, a, b, b_row, c, c_row, accumulate);
  if (whole < cols) {
    product_rest(rows, depth, cols - whole, a, b + whole, b_row, c + whole, c_row, accumulate);
  }
}

void low_rank_add(ConstMatrix x, ConstMatrix a, ConstMatrix b, float scale, float* inner, Matrix y) {
  const int64_t rank = a.cols, inner_row = (rank + 15) / 16 * 16;
  any_product(x.rows, x.cols, rank, {x.data, x.row_stride, 1}, a.data, a.row_stride, inner, inner_row, false);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t r = 0; r < rank; ++r) inner[i * inner_row + r] *= scale;
  }
  any_product(x.rows, rank, b.cols, {inner, inner_row, 1}, b.data, b.row_stride, y.data, y.row_stride, true);
}

void adamw(float* weights, const float* grads, float* m, float* v, int64_t n, const AdamStep& step) {
  const float keep = 1.0F - step.lr * step.weight_decay, rate = step.lr / step.correction1;
  const float root = 1.0F / __builtin_sqrtf(step.correction2);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float g = grads[i] * step.grad_scale;
    m[i] = step.beta1 * m[i] + (1.0F - step.beta1) * g;
    v[i] = step.beta2 * v[i] + (1.0F - step.beta2) * g * g;
    weights[i] = keep * weights[i] - rate * m[i] / (__builtin_sqrtf(v[i]) * root + step.eps);
  }
}

double sum_of_squares(const float* x, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

void to_bf16(const float* x, int64_t n, uint16_t* y) {
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const HalfVec half = round_to_bf16(load_upto(x + i, lanes));
    if (lanes == kWidth) {
      __builtin_memcpy(y + i, &half, sizeof half);
    } else {
      for (int64_t lane = 0; lane < lanes; ++lane) y[i + lane] = half[lane];
    }
  });
}

}  // namespace

const RowKernels& row_kernels() {
  static constexpr RowKernels kernels{
      rms_norm,     rms_norm_backward,     add_scaled,   sin_cos, rotate,         swiglu, swiglu_backward,
      distribution, distribution_backward, low_rank_add, adamw,   sum_of_squares, to_bf16};
  return kernels;
}

}  // namespace nereus::kernels::NEREUS_ISA
