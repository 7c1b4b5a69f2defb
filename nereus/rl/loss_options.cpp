#include "nereus/rl/policy_loss.h"

namespace nereus::rl {
namespace {

Status check_clipping(const LossOptions& options) {
  if (const double low = epsilon_of(options); !(low > 0 && low < 1))
    return fail("epsilon: {}, expected more than 0 and less than 1", low);
  if (const double high = epsilon_high_of(options); !(high > 0))
    return fail("epsilon_high: {}, expected more than 0", high);
  if (options.delta && !(*options.delta > 1)) return fail("delta: {}, expected more than 1", *options.delta);
  if (options.dual_clip && !(*options.dual_clip > 1))
    return fail("dual_clip: {}, expected more than 1", *options.dual_clip);
  if (!(options.cispo_max > 1)) return fail("cispo_max: {}, expected more than 1", options.cispo_max);
  return {};
}

Status check_smooth(const LossOptions& options) {
  if (!(options.sapo_temperature_pos > 0 && options.sapo_temperature_neg > 0))
    return fail("sapo_temperature_pos, sapo_temperature_neg: {} and {}, expected more than 0",
                options.sapo_temperature_pos, options.sapo_temperature_neg);
  if (!(options.vespo_k_pos >= 0 && options.vespo_k_neg >= 0))
    return fail("vespo_k_pos, vespo_k_neg: {} and {}, expected 0 or more", options.vespo_k_pos,
                options.vespo_k_neg);
  if (!(options.vespo_lambda_pos > 0 && options.vespo_lambda_neg > 0))
    return fail("vespo_lambda_pos, vespo_lambda_neg: {} and {}, expected more than 0",
                options.vespo_lambda_pos, options.vespo_lambda_neg);
  const auto mode = options.correction.mode;
  if (options.loss == LossKind::vespo &&
      (mode == CorrectionMode::sequence_truncate || mode == CorrectionMode::sequence_mask))
    return fail(
        "correction.mode: vespo weighs whole sequences itself, expected none, token_truncate, "
        "token_mask or decoupled");
  return {};
}

}  // namespace

Status validate(const LossOptions& options) {
  if (auto status = check_clipping(options); !status) return status;
  if (auto status = check_smooth(options); !status) return status;
  if (auto status = validate(options.correction); !status) return status;
  if (!(options.beta >= 0)) return fail("beta: {}, expected 0 or more", options.beta);
  if (options.off_policy_threshold && !(*options.off_policy_threshold > 0))
    return fail("off_policy_threshold: {}, expected more than 0", *options.off_policy_threshold);
  if (!(options.entropy_coef >= 0)) return fail("entropy_coef: {}, expected 0 or more", options.entropy_coef);
  return {};
}

}  // namespace nereus::rl
