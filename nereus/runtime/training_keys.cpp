#include <array>
#include <string_view>

#include "nereus/runtime/job_keys.h"

namespace nereus::runtime {

using config::above;
using config::at_least;
using config::between;
using config::KeyTable;

namespace {

/// Pairs the names of an enumeration with its values, which count from 0.
template <class Enum, size_t N>
std::vector<std::pair<std::string, Enum>> named(const std::array<std::string_view, N>& names) {
  std::vector<std::pair<std::string, Enum>> pairs;
  for (size_t i = 0; i < N; ++i) pairs.emplace_back(names[i], static_cast<Enum>(i));
  return pairs;
}

void add_lora(KeyTable<Job>& keys) {
  keys.add(
      "lora.enabled", [](auto& job) -> auto& { return job.lora.enabled; },
      "Train a LoRA adapter. false: train all weights.");
  keys.add(
      "lora.rank", [](auto& job) -> auto& { return job.lora.options.rank; }, "Rank of the adapter.",
      between(1, 4096));
  keys.add(
      "lora.alpha", [](auto& job) -> auto& { return job.lora.options.alpha; },
      "The adapter's product is scaled by alpha / rank.", above(0));
  keys.add(
      "lora.rslora", [](auto& job) -> auto& { return job.lora.options.rslora; },
      "Scale by alpha / sqrt(rank) instead.");
  keys.add(
      "lora.target_modules", [](auto& job) -> auto& { return job.lora.options.target_modules; },
      "Linear layers that get an adapter.");
}

void add_train(KeyTable<Job>& keys) {
  keys.add(
      "train.learning_rate", [](auto& job) -> auto& { return job.train.optimizer.learning_rate; },
      "Learning rate of AdamW. About 1e-6 for all weights, 1e-5 to 2e-4 for LoRA.", at_least(0));
  keys.choice(
      "train.schedule", [](auto& job) -> auto& { return job.train.optimizer.schedule; },
      std::vector<std::pair<std::string, train::Schedule>>{{"constant", train::Schedule::constant},
                                                           {"cosine", train::Schedule::cosine},
                                                           {"linear", train::Schedule::linear}},
      "The learning rate after warm-up: constant, or falling until the last step.");
  keys.add(
      "train.warmup_steps", [](auto& job) -> auto& { return job.train.optimizer.warmup_steps; },
      "Optimizer steps in which the learning rate rises from 0.", at_least(0));
  keys.add(
      "train.min_ratio", [](auto& job) -> auto& { return job.train.optimizer.min_ratio; },
      "What is left of the learning rate at the end of cosine and linear.", between(0, 1));
  keys.add(
      "train.beta1", [](auto& job) -> auto& { return job.train.optimizer.beta1; },
      "Decay of AdamW's first moment.", between(0, 0.999999));
  keys.add(
      "train.beta2", [](auto& job) -> auto& { return job.train.optimizer.beta2; },
      "Decay of AdamW's second moment.", between(0, 0.999999));
  keys.add(
      "train.eps", [](auto& job) -> auto& { return job.train.optimizer.eps; },
      "Added to AdamW's denominator.", above(0));
  keys.add(
      "train.weight_decay", [](auto& job) -> auto& { return job.train.optimizer.weight_decay; },
      "Decoupled weight decay.", at_least(0));
  keys.add(
      "train.max_grad_norm", [](auto& job) -> auto& { return job.train.optimizer.max_grad_norm; },
      "Gradients are scaled down to this global norm. 0: never.", at_least(0));
  keys.add(
      "train.minibatches", [](auto& job) -> auto& { return job.train.minibatches; },
      "Optimizer steps that the groups of a step are divided into.", at_least(1));
  keys.add(
      "train.epochs", [](auto& job) -> auto& { return job.train.epochs; },
      "Passes over the groups of a step.", at_least(1));
  keys.add(
      "train.micro_batch_tokens", [](auto& job) -> auto& { return job.train.micro_batch_tokens; },
      "Tokens of one forward and backward pass; bounds memory, does not change the result.", at_least(1));
  keys.add(
      "train.recompute", [](auto& job) -> auto& { return job.train.recompute; },
      "Keep only the inputs of layers and compute them again in the backward pass: less memory, more time.");
  keys.add(
      "train.share_prompts", [](auto& job) -> auto& { return job.train.share_prompts; },
      "Compute the prompt of a group once, also in training.");
}

void add_advantages(KeyTable<Job>& keys) {
  keys.choice(
      "grpo.advantage", [](auto& job) -> auto& { return job.train.advantages.kind; },
      named<rl::AdvantageKind>(rl::kAdvantageKinds), "How rewards become advantages.");
  keys.choice(
      "grpo.scale_rewards", [](auto& job) -> auto& { return job.train.advantages.scale; },
      named<rl::ScaleRewards>(rl::kScaleRewards),
      "What divides the advantages of grpo: deviation of the group, of the batch, or nothing.");
  keys.add(
      "grpo.std_epsilon", [](auto& job) -> auto& { return job.train.advantages.epsilon; },
      "Added to that deviation.", at_least(0));
  keys.choice(
      "grpo.combine_rewards", [](auto& job) -> auto& { return job.train.advantages.combine; },
      named<rl::MultiReward>(rl::kMultiRewards), "How several rewards become one.");
  keys.add(
      "grpo.kl_coef", [](auto& job) -> auto& { return job.train.advantages.kl_coef; },
      "Weight of the KL inside the rewards of the reinforce_pp kinds.", at_least(0));
}

void add_loss(KeyTable<Job>& keys) {
  keys.choice(
      "grpo.loss", [](auto& job) -> auto& { return job.train.loss.loss; },
      named<rl::LossKind>(rl::kLossKinds), "The policy loss.");
  keys.choice(
      "grpo.aggregation", [](auto& job) -> auto& { return job.train.loss.aggregation; },
      named<rl::Aggregation>(rl::kAggregations),
      "How token losses become one number. Unset: the loss's own (dapo for grpo).");
  keys.add(
      "grpo.epsilon", [](auto& job) -> auto& { return job.train.loss.epsilon; },
      "The ratio is clipped below at 1 - epsilon. Unset: 0.2 (gspo, luspo: 3e-4).", above(0));
  keys.add(
      "grpo.epsilon_high", [](auto& job) -> auto& { return job.train.loss.epsilon_high; },
      "And above at 1 + this. Unset: epsilon (gspo, luspo: 4e-4).", above(0));
  keys.add(
      "grpo.delta", [](auto& job) -> auto& { return job.train.loss.delta; },
      "Caps the unclipped ratio as well (two-sided clipping). Unset: no cap.", above(1));
  keys.add(
      "grpo.dual_clip", [](auto& job) -> auto& { return job.train.loss.dual_clip; },
      "Where the advantage A is negative the loss is at most -dual_clip * A; usual 3. Unset: no bound.",
      above(1));
}

void add_loss_variants(KeyTable<Job>& keys) {
  keys.add(
      "grpo.cispo_max", [](auto& job) -> auto& { return job.train.loss.cispo_max; }, "Cap of cispo's weight.",
      above(0));
  keys.add(
      "grpo.sapo_temperature_pos", [](auto& job) -> auto& { return job.train.loss.sapo_temperature_pos; },
      "Temperature of sapo's gate where the advantage is positive.", above(0));
  keys.add(
      "grpo.sapo_temperature_neg", [](auto& job) -> auto& { return job.train.loss.sapo_temperature_neg; },
      "And elsewhere.", above(0));
  keys.add(
      "grpo.vespo_k_pos", [](auto& job) -> auto& { return job.train.loss.vespo_k_pos; },
      "Exponent of vespo's weight where the advantage is not negative.", above(0));
  keys.add(
      "grpo.vespo_lambda_pos", [](auto& job) -> auto& { return job.train.loss.vespo_lambda_pos; },
      "Its decay there.", above(0));
  keys.add(
      "grpo.vespo_k_neg", [](auto& job) -> auto& { return job.train.loss.vespo_k_neg; },
      "Exponent of vespo's weight where the advantage is negative.", above(0));
  keys.add(
      "grpo.vespo_lambda_neg", [](auto& job) -> auto& { return job.train.loss.vespo_lambda_neg; },
      "Its decay there.", above(0));
}

void add_corrections(KeyTable<Job>& keys) {
  keys.add(
      "grpo.beta", [](auto& job) -> auto& { return job.train.loss.beta; },
      "Weight of the KL to the starting policy. 0: that policy is not computed.", at_least(0));
  keys.add(
      "grpo.kl_times_ratio", [](auto& job) -> auto& { return job.train.loss.kl_times_ratio; },
      "Multiply the KL's estimate by the ratio, so that its gradient is that of the reverse KL.");
  keys.choice(
      "grpo.correction", [](auto& job) -> auto& { return job.grpo.correction; },
      named<rl::CorrectionMode>(rl::kCorrectionModes),
      "Correction for a sampler that differs from the trained policy.");
  keys.add(
      "grpo.correction_min", [](auto& job) -> auto& { return job.grpo.correction_min; },
      "Lower bound of the correction's weight. Unset: the mode's usual one.", at_least(0));
  keys.add(
      "grpo.correction_max", [](auto& job) -> auto& { return job.grpo.correction_max; },
      "Upper bound of the correction's weight. Unset: the mode's usual one.", above(0));
  keys.add(
      "grpo.off_policy_threshold", [](auto& job) -> auto& { return job.train.loss.off_policy_threshold; },
      "Drops sequences of negative advantage that drifted further than this; usual 0.5. Unset: none.",
      above(0));
  keys.add(
      "grpo.entropy_coef", [](auto& job) -> auto& { return job.train.loss.entropy_coef; },
      "Weight of an entropy bonus.", at_least(0));
  keys.add(
      "grpo.entropy_target", [](auto& job) -> auto& { return job.grpo.entropy_target; },
      "Mean entropy, in nats, towards which the weight of the bonus is moved. Unset: the weight stays.",
      above(0));
  keys.add(
      "grpo.top_entropy_quantile", [](auto& job) -> auto& { return job.train.top_entropy_quantile; },
      "Train only this fraction of the tokens, the most uncertain ones.", between(0.001, 1));
  keys.add(
      "grpo.mask_truncated", [](auto& job) -> auto& { return job.train.mask_truncated; },
      "Do not train completions that the length limit cut.");
  keys.add(
      "grpo.overlong_cache", [](auto& job) -> auto& { return job.train.overlong_cache; },
      "Tokens before the length limit over which a penalty falls from 0 to -1 (DAPO). 0: none.", at_least(0));
  keys.add(
      "grpo.resample_rounds", [](auto& job) -> auto& { return job.grpo.resample_rounds; },
      "Times in a step that groups whose rewards are all equal are replaced by new prompts (DAPO). 0: kept.",
      between(0, 1000));
  keys.add(
      "grpo.skip_zero_advantage", [](auto& job) -> auto& { return job.train.skip_zero_advantage; },
      "Leave completions out of the pass whose gradient is exactly 0; does not change the result.");
  keys.add(
      "grpo.reference_sync_steps", [](auto& job) -> auto& { return job.train.reference_sync_steps; },
      "Policy updates after which the reference of the KL moves towards the policy. 0: never.", at_least(0));
  keys.add(
      "grpo.reference_mixup", [](auto& job) -> auto& { return job.train.reference_mixup; },
      "Share of the policy in that move.", between(0, 1));
}

}  // namespace

void add_training_keys(KeyTable<Job>& keys) {
  add_lora(keys);
  add_train(keys);
  add_advantages(keys);
  add_loss(keys);
  add_loss_variants(keys);
  add_corrections(keys);
}

}  // namespace nereus::runtime
