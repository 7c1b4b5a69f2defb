#include "nereus/rl/policy_loss.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <limits>

#include "nereus/rl/cispo.h"
#include "nereus/rl/clip_loss.h"
#include "nereus/rl/kl.h"
#include "nereus/rl/measure.h"
#include "nereus/rl/sapo.h"
#include "nereus/rl/sequence_ratio.h"
#include "nereus/rl/vespo.h"

namespace nereus::rl {
namespace {

bool is_sequence_level(LossKind loss) {
  return loss == LossKind::gspo || loss == LossKind::luspo;
}

at::Tensor surrogate(const ActiveBatch& batch, const LossTerms& terms, const LossOptions& options) {
  switch (options.loss) {
    case LossKind::cispo:
      return cispo_loss(terms.ratio, batch.advantage, batch.logprob, options.cispo_max);
    case LossKind::sapo:
      return sapo_loss(terms.ratio, batch.advantage, options.sapo_temperature_pos,
                       options.sapo_temperature_neg);
    case LossKind::vespo:
      return vespo_loss(
          batch, terms.correction.weight,
          {options.vespo_k_pos, options.vespo_lambda_pos, options.vespo_k_neg, options.vespo_lambda_neg});
    case LossKind::grpo:
    case LossKind::gspo:
    case LossKind::luspo:
      break;
  }
  return clip_loss(terms.ratio, batch.advantage,
                   {epsilon_of(options), epsilon_high_of(options), options.delta, options.dual_clip});
}

// Where the ratio stops to matter, for the metrics; the smooth losses have no such place.
void set_clip_range(const LossOptions& options, LossTerms& terms) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const bool has_cap = options.loss == LossKind::cispo;
  const bool has_range = options.loss == LossKind::grpo || is_sequence_level(options.loss);
  terms.clip_low = has_range ? 1.0 - epsilon_of(options) : 0.0;
  terms.clip_high = has_range ? 1.0 + epsilon_high_of(options) : has_cap ? options.cispo_max : kNever;
}

LossTerms terms_of(const ActiveBatch& batch, const GlobalCounts& counts, const LossOptions& options) {
  LossTerms terms;
  terms.ratio = is_sequence_level(options.loss) ? sequence_ratio(batch) : batch.log_ratio.exp();
  if (options.beta != 0) {
    terms.kl = k3(batch.logprob, batch.ref_logprob);
    if (options.kl_times_ratio) terms.kl = terms.kl * terms.ratio;
  }
  terms.correction = correction(batch, options.correction);
  if (options.off_policy_threshold) terms.off_policy = off_policy_mask(batch, *options.off_policy_threshold);
  if (counts.entropy_threshold)
    terms.entropy_keep =
        batch.entropy.detach().ge(*counts.entropy_threshold).to(batch.mask.scalar_type()) * batch.mask;
  set_clip_range(options, terms);
  return terms;
}

at::Tensor token_loss(const ActiveBatch& batch, const LossTerms& terms, const LossOptions& options) {
  at::Tensor loss = surrogate(batch, terms, options);
  // VESPO has the correction inside its weight.
  if (options.loss != LossKind::vespo) loss = loss * terms.correction.weight;
  if (terms.off_policy.defined()) loss = loss * terms.off_policy;
  if (terms.entropy_keep.defined()) loss = loss * terms.entropy_keep;
  return terms.kl.defined() ? loss + options.beta * terms.kl : loss;
}

at::Tensor mean_entropy(const ActiveBatch& batch, const LossTerms& terms, const GlobalCounts& counts) {
  const at::Tensor kept = terms.entropy_keep.defined() ? batch.entropy * terms.entropy_keep : batch.entropy;
  return kept.sum() / std::max(counts.entropy_threshold ? counts.entropy_tokens : counts.active_tokens, 1.0);
}

}  // namespace

Aggregation aggregation_of(const LossOptions& options) {
  if (options.aggregation) return *options.aggregation;
  switch (options.loss) {
    case LossKind::gspo:
    case LossKind::sapo:
      return Aggregation::grpo;
    case LossKind::luspo:
      return Aggregation::luspo;
    default:
      return Aggregation::dapo;
  }
}

double epsilon_of(const LossOptions& options) {
  return options.epsilon.value_or(is_sequence_level(options.loss) ? 3e-4 : 0.2);
}

double epsilon_high_of(const LossOptions& options) {
  if (options.epsilon_high) return *options.epsilon_high;
  if (options.epsilon) return *options.epsilon;
  return is_sequence_level(options.loss) ? 4e-4 : 0.2;
}

LossResult policy_loss(const TokenBatch& batch, const GlobalCounts& counts, const LossOptions& options) {
  const ActiveBatch tokens = active(batch);
  const LossTerms terms = terms_of(tokens, counts, options);
  LossResult result{aggregate(token_loss(tokens, terms, options), tokens, counts, aggregation_of(options)),
                    measure(tokens, terms)};
  result.sums.policy_loss = result.loss.item<double>();
  if (options.entropy_coef != 0)
    result.loss = result.loss - options.entropy_coef * mean_entropy(tokens, terms, counts);
  return result;
}

}  // namespace nereus::rl
