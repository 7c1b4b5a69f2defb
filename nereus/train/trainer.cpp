#include "nereus/train/trainer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <spdlog/spdlog.h>

#include <chrono>

#include "nereus/train/policy.h"
#include "nereus/train/sampler_check.h"
#include "nereus/train/state_file.h"
#include "nereus/train/step_plan.h"

namespace nereus::train {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

struct Trainer::State {
  State(model::Transformer& trained, const TrainerOptions& o)
      : model(trained),
        options(o),
        vocab(model.config().vocab),
        policy(model, o.temperature, o.recompute),
        optimizer(model.parameters(), o.optimizer) {
    if (uses_reference()) reference.emplace(model.parameters());
    if (o.kept_policies > 0) check.emplace(o.kept_policies);
    remember();
  }

  bool uses_reference() const { return options.loss.beta != 0 || options.advantages.kl_coef != 0; }
  bool needs_old_entropy() const { return options.top_entropy_quantile < 1.0; }
  /// With one optimizer step a batch the old policy is the one that trains: its log-probs come for free.
  bool needs_old_logprob() const {
    return options.minibatches * options.epochs > 1 || options.advantages.kl_coef != 0 || needs_old_entropy();
  }

  void score(std::vector<Minibatch>& minibatches);
  std::vector<float> kl_by_token(const StepBatch& batch, const std::vector<Minibatch>& minibatches) const;
  rl::LossOptions loss_options() const;
  rl::LossSums accumulate(const StepBatch& batch, const Minibatch& minibatch, const rl::LossOptions& loss);
  void set_entropy_threshold(Minibatch& minibatch) const;
  void after_optimizer_step(const rl::LossSums& sums);
  void after_update();
  void remember();

  model::Transformer& model;
  TrainerOptions options;
  int64_t vocab;
  Policy policy;
  AdamW optimizer;
  std::optional<Reference> reference;
  std::optional<SamplerCheck> check;
  rl::EntropyControl entropy_control;
  int64_t version = 0;
};

/// Fills in the log-probs that stay fixed during the step.
void Trainer::State::score(std::vector<Minibatch>& minibatches) {
  for (Minibatch& minibatch : minibatches) {
    for (MicroBatch& micro : minibatch.micro_batches) {
      if (needs_old_logprob()) {
        const ops::ChosenLogprob scores = policy.score(micro.packed);
        micro.old_logprob = scores.logprob;
        micro.old_entropy = scores.entropy;
      }
      if (reference) micro.ref_logprob = reference->score(policy, micro.packed).logprob;
    }
    if (needs_old_entropy()) set_entropy_threshold(minibatch);
  }
}

void Trainer::State::set_entropy_threshold(Minibatch& minibatch) const {
  std::vector<float> all;
  for (const MicroBatch& micro : minibatch.micro_batches) {
    const float* begin = micro.old_entropy.const_data_ptr<float>();
    all.insert(all.end(), begin, begin + micro.old_entropy.numel());
  }
  const double threshold = rl::entropy_threshold(all, options.top_entropy_quantile);
  minibatch.counts.entropy_threshold = threshold;
  for (float entropy : all)
    minibatch.counts.entropy_tokens += entropy >= static_cast<float>(threshold) ? 1 : 0;
}

/// log p_policy − log p_reference of every token of the step, in the flat order.
std::vector<float> Trainer::State::kl_by_token(const StepBatch& batch,
                                               const std::vector<Minibatch>& minibatches) const {
  if (options.advantages.kl_coef == 0) return {};
  std::vector<float> kl(batch.tokens(), 0.0F);
  for (const Minibatch& minibatch : minibatches)
    for (const MicroBatch& micro : minibatch.micro_batches) {
      const at::Tensor difference = micro.old_logprob - micro.ref_logprob;
      const float* value = difference.const_data_ptr<float>();
      const int64_t* sequence = micro.packed.sequence.const_data_ptr<int64_t>();
      for (int64_t t = 0, in_sequence = 0; t < micro.packed.tokens(); ++t, ++in_sequence) {
        if (t > 0 && sequence[t] != sequence[t - 1]) in_sequence = 0;
        const CompletionRef& ref = micro.packed.completions[static_cast<size_t>(sequence[t])];
        kl[batch.first_token(ref) + static_cast<size_t>(in_sequence)] = value[t];
      }
    }
  return kl;
}

rl::LossOptions Trainer::State::loss_options() const {
  rl::LossOptions loss = options.loss;
  if (options.entropy_control)
    loss.entropy_coef = rl::applied_coefficient(entropy_control, *options.entropy_control);
  return loss;
}

/// Forward and backward over the micro-batches: gradients add up to those of the whole minibatch.
rl::LossSums Trainer::State::accumulate(const StepBatch& batch, const Minibatch& minibatch,
                                        const rl::LossOptions& loss) {
  rl::LossSums sums;
  for (const MicroBatch& micro : minibatch.micro_batches) {
    const ops::ChosenLogprob scores = policy.forward(micro.packed, loss.entropy_coef != 0);
    const rl::TokenBatch tokens{.logprob = scores.logprob,
                                .old_logprob = micro.old_logprob,
                                .ref_logprob = micro.ref_logprob,
                                .sampler_logprob = micro.packed.sampler_logprob,
                                .entropy = scores.entropy,
                                .advantage = batch.sequence_advantage(micro.packed),
                                .token_advantage = batch.token_advantage(micro.packed),
                                .sequence = micro.packed.sequence,
                                .mask = at::ones({micro.packed.tokens()})};  // what is masked was not packed
    const rl::LossResult result = rl::policy_loss(tokens, minibatch.counts, loss);
    result.loss.backward();
    sums += result.sums;
  }
  return sums;
}

void Trainer::State::after_optimizer_step(const rl::LossSums& sums) {
  if (options.entropy_control && sums.tokens > 0)
    rl::update(entropy_control, sums.entropy / sums.tokens, *options.entropy_control);
}

void Trainer::State::after_update() {
  ++version;
  if (reference && options.reference_sync_steps > 0 && version % options.reference_sync_steps == 0)
    reference->mix(options.reference_mixup);
  remember();
}

void Trainer::State::remember() {
  if (check) check->remember(model.parameters(), version);
}

Trainer::Trainer(model::Transformer& model, TrainerOptions options)
    : state_(std::make_unique<State>(model, options)) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;

int64_t Trainer::version() const {
  return state_->version;
}

Result<std::map<std::string, double>> Trainer::step(const std::vector<ScoredGroup>& groups) {
  State& s = *state_;
  auto begin = std::chrono::steady_clock::now();
  auto batch = StepBatch::create(groups, s.options, s.vocab);
  if (!batch) return pass(batch);
  if (!batch->token_wise())
    if (auto status = batch->compute_advantages(); !status) return pass(status);
  std::vector<Minibatch> minibatches = batch->minibatches();
  s.score(minibatches);
  if (batch->token_wise())
    if (auto status = batch->compute_advantages(s.kl_by_token(*batch, minibatches)); !status)
      return pass(status);
  std::map<std::string, double> metrics;
  if (s.check)
    metrics = s.check->compare(groups, s.policy, {s.options.micro_batch_tokens, s.options.share_prompts});
  metrics["perf/logprob_s"] = seconds_since(begin);

  begin = std::chrono::steady_clock::now();
  rl::LossSums sums;
  double grad_norm = 0, lr = 0, optimizer_steps = 0;
  for (int64_t epoch = 0; epoch < s.options.epochs; ++epoch)
    for (const Minibatch& minibatch : minibatches) {
      if (minibatch.counts.active_tokens == 0) continue;  // nothing trains: no step
      const rl::LossSums part = s.accumulate(*batch, minibatch, s.loss_options());
      const AdamW::Outcome outcome = s.optimizer.step();
      if (outcome.skipped)
        spdlog::warn("step {}: the gradient is not finite; this optimizer step is skipped", s.version);
      s.after_optimizer_step(part);
      sums += part;
      grad_norm += outcome.grad_norm;
      lr = outcome.lr;
      ++optimizer_steps;
    }
  s.after_update();
  for (const auto& [name, value] : rl::metrics(sums)) metrics[name] = value;
  const double divisor = std::max(optimizer_steps, 1.0);
  metrics["policy_loss"] /= divisor;
  metrics["grad_norm"] = grad_norm / divisor;
  metrics["lr"] = lr;
  metrics["reward"] = batch->advantages().reward_mean;
  metrics["reward_std"] = batch->advantages().reward_std;
  metrics["frac_reward_zero_std"] = batch->advantages().frac_reward_zero_std;
  metrics["perf/train_s"] = seconds_since(begin);
  return metrics;
}

Status Trainer::save(const std::filesystem::path& folder) const {
  std::vector<checkpoint::NamedTensor> tensors = state_->optimizer.state();
  if (state_->reference)
    for (checkpoint::NamedTensor& tensor : state_->reference->state()) tensors.push_back(std::move(tensor));
  return write_state(folder / kStateFile, tensors,
                     {{"version", fmt::format("{}", state_->version)},
                      {"optimizer_steps", fmt::format("{}", state_->optimizer.steps())},
                      {"entropy_coefficient", fmt::format("{}", state_->entropy_control.coefficient)},
                      {"last_entropy", fmt::format("{}", state_->entropy_control.last_entropy)}});
}

Status Trainer::load(const std::filesystem::path& folder) {
  std::vector<checkpoint::NamedTensor> tensors = state_->optimizer.state();
  if (state_->reference)
    for (checkpoint::NamedTensor& tensor : state_->reference->state()) tensors.push_back(std::move(tensor));
  auto counters = read_state(folder / kStateFile, tensors,
                             {"version", "optimizer_steps", "entropy_coefficient", "last_entropy"});
  if (!counters) return pass(counters);
  state_->version = static_cast<int64_t>((*counters)[0]);
  state_->remember();
  state_->optimizer.set_steps(static_cast<int64_t>((*counters)[1]));
  state_->entropy_control = {(*counters)[2], (*counters)[3]};
  return {};
}

}  // namespace nereus::train
