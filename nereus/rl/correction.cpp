#include "nereus/rl/correction.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <limits>

namespace nereus::rl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_sequence(CorrectionMode mode) {
  return mode == CorrectionMode::sequence_truncate || mode == CorrectionMode::sequence_mask;
}

bool is_mask(CorrectionMode mode) {
  return mode == CorrectionMode::token_mask || mode == CorrectionMode::sequence_mask;
}

at::Tensor raw_weight(const ActiveBatch& batch, CorrectionMode mode) {
  // A server may leave a token without a log-prob: it is then taken as sampled by the old policy.
  const at::Tensor difference =
      (batch.old_logprob - batch.sampler_logprob).nan_to_num(0.0, kInfinity, -kInfinity).clamp(-20.0, 20.0);
  if (!is_sequence(mode)) return difference.exp();
  return spread(sum_by_sequence(difference, batch).clamp(-20.0, 20.0).exp(), batch);
}

}  // namespace

CorrectionOptions usual_correction(CorrectionMode mode) {
  switch (mode) {
    case CorrectionMode::token_mask:
      return {mode, 0.5, 5.0};
    case CorrectionMode::none:
    case CorrectionMode::decoupled:
      return {mode, std::nullopt, std::nullopt};
    default:
      return {mode, std::nullopt, 3.0};
  }
}

Correction correction(const ActiveBatch& batch, const CorrectionOptions& options) {
  const c10::AutoGradMode no_grad(false);
  if (!batch.sampler_logprob.defined()) {
    const at::Tensor ones = at::ones_like(batch.mask);
    return {ones, ones};
  }
  const at::Tensor raw = raw_weight(batch, options.mode);
  Correction result{raw, at::ones_like(raw), is_sequence(options.mode)};
  if (options.mode == CorrectionMode::none) return result;
  const double low = options.min.value_or(0.0);
  const double high = options.max.value_or(kInfinity);
  if (is_mask(options.mode))
    result.weight = at::where(raw.ge(low).logical_and(raw.le(high)), raw, at::zeros_like(raw));
  else
    result.weight = raw.clamp(low, high);
  return result;
}

at::Tensor off_policy_mask(const ActiveBatch& batch, double threshold) {
  const c10::AutoGradMode no_grad(false);
  const at::Tensor& behaviour = batch.sampler_logprob.defined() ? batch.sampler_logprob : batch.old_logprob;
  const at::Tensor gap =
      (behaviour - batch.logprob).nan_to_num(0.0, kInfinity, -kInfinity).clamp(-20.0, 20.0);
  const at::Tensor mean = sum_by_sequence(gap, batch) / batch.length.clamp_min(1.0);
  const at::Tensor is_dropped = batch.advantage.lt(0).logical_and(spread(mean, batch).gt(threshold));
  return is_dropped.logical_not().to(batch.mask.scalar_type());
}

Status validate(const CorrectionOptions& options) {
  if (options.min && !(*options.min >= 0))
    return fail("correction.min: {}, expected 0 or more", *options.min);
  if (options.max && !(*options.max > 0))
    return fail("correction.max: {}, expected more than 0", *options.max);
  if (options.min && options.max && *options.min > *options.max)
    return fail("correction.min: {} is above correction.max {}", *options.min, *options.max);
  return {};
}

}  // namespace nereus::rl
