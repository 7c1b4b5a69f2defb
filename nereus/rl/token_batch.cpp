#include "nereus/rl/token_batch.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace nereus::rl {
namespace {

// Masked entries are replaced and not multiplied by 0: they may be NaN, and must not reach the gradient.
at::Tensor keep(const at::Tensor& values, const at::Tensor& is_active) {
  if (!values.defined()) return values;
  return at::where(is_active, values, at::zeros({}, values.options()));
}

int64_t count_sequences(const TokenBatch& batch) {
  if (batch.advantage.defined()) return batch.advantage.size(0);
  return batch.sequence.numel() == 0 ? 0 : batch.sequence.max().item<int64_t>() + 1;
}

}  // namespace

ActiveBatch active(const TokenBatch& batch) {
  const at::Tensor is_active = batch.mask.ne(0);
  const auto dtype = batch.logprob.scalar_type();
  ActiveBatch result;
  result.sequences = count_sequences(batch);
  result.sequence = batch.sequence;
  result.mask = is_active.to(dtype);
  result.logprob = keep(batch.logprob, is_active);
  result.old_logprob =
      batch.old_logprob.defined() ? keep(batch.old_logprob.detach(), is_active) : result.logprob.detach();
  result.ref_logprob = keep(batch.ref_logprob, is_active);
  result.sampler_logprob = keep(batch.sampler_logprob, is_active);
  result.entropy = keep(batch.entropy, is_active);
  const at::Tensor advantage = batch.token_advantage.defined()
                                   ? batch.token_advantage
                                   : batch.advantage.index_select(0, batch.sequence);
  result.advantage = keep(advantage.to(dtype), is_active);
  result.log_ratio = (result.logprob - result.old_logprob).clamp(-20.0, 20.0);
  result.length = sum_by_sequence(result.mask, result);
  return result;
}

at::Tensor sum_by_sequence(const at::Tensor& values, const ActiveBatch& batch) {
  return at::zeros({batch.sequences}, values.options()).index_add(0, batch.sequence, values);
}

at::Tensor spread(const at::Tensor& values, const ActiveBatch& batch) {
  return values.index_select(0, batch.sequence);
}

}  // namespace nereus::rl
