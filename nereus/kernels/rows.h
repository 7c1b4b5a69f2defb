#pragma once

#include <cstdint>

#include "nereus/kernels/matrix.h"

/// Operations row by row, on all OpenMP threads. Row-major matrices with any row stride; outputs may alias
/// inputs of the same shape where said. Thread-safe; results do not depend on the number of threads.
namespace nereus::kernels {

/// y = x / rms(x) · weight, rms(x) = √(mean(x²) + eps). `inverse_rms` (null or [rows]) is kept for backward.
void rms_norm(ConstMatrix x, const float* weight, float eps, Matrix y, float* inverse_rms);
/// dx is overwritten; dweight (null or [cols]) is added to.
void rms_norm_backward(ConstMatrix x, const float* weight, const float* inverse_rms, ConstMatrix dy,
                       Matrix dx, float* dweight);

/// Rotates pairs (i, i + head_dim/2) of each head by position · frequency[i], in place, x [rows, heads ·
/// head_dim]. `direction` −1 undoes it (that is also its gradient).
void rotary(Matrix x, int64_t heads, int64_t head_dim, const int32_t* positions, const float* frequencies,
            int direction);

/// y = silu(gate) · up, with gate_up [rows, 2·n] holding gate then up; y [rows, n].
void swiglu(ConstMatrix gate_up, Matrix y);
void swiglu_backward(ConstMatrix gate_up, ConstMatrix dy, Matrix dgate_up);

/// Rows of `table` [vocab, hidden] by id. REQUIRES: every id in range.
void embedding(ConstMatrix table, const int32_t* ids, Matrix out);
/// Adds dout rows into dtable by id, in row order (so repeated ids give the same sum each time).
void embedding_backward(const int32_t* ids, ConstMatrix dout, Matrix dtable);

/// From logits [rows, vocab], scaled by inverse_temperature: log-prob of targets[row], the row's logsumexp
/// (null to skip) and the distribution's entropy (null to skip).
void chosen_logprob(ConstMatrix logits, const int32_t* targets, float inverse_temperature, float* logprob,
                    float* logsumexp, float* entropy);
/// In place: logits become their gradient, inverse_temperature · (dlogprob · (onehot − p) + dentropy ·
/// −p · (log p + entropy)). dentropy and entropy may be null.
void chosen_logprob_backward(Matrix logits, const int32_t* targets, float inverse_temperature,
                             const float* logsumexp, const float* dlogprob, const float* entropy,
                             const float* dentropy);

/// In place: each row of logits becomes softmax(inverse_temperatures[row] · logits).
void softmax(Matrix logits, const float* inverse_temperatures);

/// y += scale · (x · Aᵀ) · Bᵀ for thin A [rank, in], B [out, rank]: a LoRA adapter on few rows (decode),
/// where the call overhead of a general product would dominate. `a_transposed` is [in, rank], `b_transposed`
/// [rank, out], row-major, rank ≤ 256 (padded by zeros to a multiple of 16 is fastest).
void low_rank_add(ConstMatrix x, ConstMatrix a_transposed, ConstMatrix b_transposed, float scale, Matrix y);

/// One fused AdamW update over n elements (Loshchilov & Hutter 2019): moments m and v, bias corrections
/// 1 − βᵗ given, decoupled weight decay.
struct AdamStep {
  float lr, beta1, beta2, eps, weight_decay, correction1, correction2, grad_scale;
};
void adamw(float* weights, const float* grads, float* m, float* v, int64_t n, const AdamStep& step);
/// Sum of squares, accumulated in double in a fixed order.
double sum_of_squares(const float* x, int64_t n);

/// Rounds to nearest even.
void to_bf16(ConstMatrix x, uint16_t* y, int64_t y_row_stride);

}  // namespace nereus::kernels
