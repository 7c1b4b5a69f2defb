#include "nereus/rl/measure.h"

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

namespace nereus::rl {
namespace {

double total(const at::Tensor& values) {
  return values.sum().item<double>();
}

// Values of the active tokens alone.
at::Tensor picked(const at::Tensor& values, const ActiveBatch& batch) {
  return values.masked_select(batch.mask.ne(0));
}

void measure_clipping(const ActiveBatch& batch, const LossTerms& terms, LossSums& sums) {
  const auto dtype = batch.mask.scalar_type();
  const at::Tensor low = terms.ratio.lt(terms.clip_low).logical_and(batch.advantage.lt(0)).to(dtype);
  const at::Tensor high = terms.ratio.gt(terms.clip_high).logical_and(batch.advantage.gt(0)).to(dtype);
  const at::Tensor has_tokens = batch.length.gt(0);
  const at::Tensor length = batch.length.masked_select(has_tokens);
  sums.clipped_low = total(low);
  sums.clipped_high = total(high);
  sums.sequence_low_min =
      (sum_by_sequence(low, batch).masked_select(has_tokens) / length).min().item<double>();
  sums.sequence_high_max =
      (sum_by_sequence(high, batch).masked_select(has_tokens) / length).max().item<double>();
}

// One of each token, or of each sequence where the correction is by sequence: a long one counts once.
at::Tensor sampler_ratios(const Correction& correction, const ActiveBatch& batch) {
  if (!correction.of_sequences) return picked(correction.raw, batch);
  const at::Tensor has_tokens = batch.length.gt(0);
  return sum_by_sequence(correction.raw * batch.mask, batch).masked_select(has_tokens) /
         batch.length.masked_select(has_tokens);
}

void measure_sampler(const ActiveBatch& batch, const LossTerms& terms, LossSums& sums) {
  const at::Tensor difference = (batch.old_logprob - batch.sampler_logprob).abs().nan_to_num(0.0);
  const at::Tensor weight = sampler_ratios(terms.correction, batch);
  sums.logp_difference = total(difference);
  sums.logp_difference_max = difference.max().item<double>();
  sums.weights = static_cast<double>(weight.numel());
  sums.weight = total(weight);
  sums.weight_min = weight.min().item<double>();
  sums.weight_max = weight.max().item<double>();
  sums.correction_masked = total(picked(terms.correction.weight.eq(0), batch));
}

}  // namespace

LossSums measure(const ActiveBatch& batch, const LossTerms& terms) {
  const c10::AutoGradMode no_grad(false);
  LossSums sums;
  sums.has_kl = terms.kl.defined();
  sums.has_entropy = batch.entropy.defined();
  sums.has_sampler = batch.sampler_logprob.defined();
  sums.tokens = total(batch.mask);
  if (sums.tokens == 0) return sums;
  const at::Tensor ratio = picked(terms.ratio, batch);
  sums.sequences = total(batch.length.gt(0));
  sums.ratio = total(ratio);
  sums.ratio_min = ratio.min().item<double>();
  sums.ratio_max = ratio.max().item<double>();
  if (sums.has_kl) sums.kl = total(terms.kl * batch.mask);
  if (sums.has_entropy) sums.entropy = total(batch.entropy);
  measure_clipping(batch, terms, sums);
  if (sums.has_sampler) measure_sampler(batch, terms, sums);
  if (terms.off_policy.defined()) sums.off_policy_masked = total(picked(terms.off_policy.eq(0), batch));
  if (terms.entropy_keep.defined()) sums.entropy_masked = total(picked(terms.entropy_keep.eq(0), batch));
  return sums;
}

}  // namespace nereus::rl
