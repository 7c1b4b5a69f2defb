#include "nereus/train/optimizer.h"

#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "nereus/ops/adamw.h"

namespace nereus::train {

double learning_rate(const OptimizerOptions& o, int64_t step) {
  if (step < o.warmup_steps)
    return o.learning_rate * static_cast<double>(step + 1) / static_cast<double>(o.warmup_steps);
  if (o.schedule == Schedule::constant) return o.learning_rate;
  const double span = static_cast<double>(std::max<int64_t>(o.total_steps - o.warmup_steps, 1));
  const double progress = std::min(static_cast<double>(step - o.warmup_steps) / span, 1.0);
  const double left =
      o.schedule == Schedule::linear ? 1.0 - progress : 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return o.learning_rate * (o.min_ratio + (1.0 - o.min_ratio) * left);
}

AdamW::AdamW(std::vector<model::Parameter> parameters, OptimizerOptions options)
    : parameters_(std::move(parameters)), options_(options) {
  for (const model::Parameter& p : parameters_) {
    m_.push_back(at::zeros_like(p.tensor.detach()));
    v_.push_back(at::zeros_like(p.tensor.detach()));
  }
}

void AdamW::zero_grad() {
  for (model::Parameter& p : parameters_) p.tensor.mutable_grad() = at::Tensor();
}

double AdamW::grad_norm() const {
  double squares = 0;
  for (const model::Parameter& p : parameters_)
    if (p.tensor.grad().defined()) squares += ops::sum_of_squares(p.tensor.grad());
  return std::sqrt(squares);
}

AdamW::Outcome AdamW::step() {
  Outcome outcome{grad_norm(), learning_rate(options_, steps_), false};
  outcome.skipped = !std::isfinite(outcome.grad_norm);
  if (!outcome.skipped) {
    ++steps_;
    // As torch.nn.utils.clip_grad_norm_: max / (norm + 1e-6), never above 1.
    const double clip =
        options_.max_grad_norm > 0 ? std::min(1.0, options_.max_grad_norm / (outcome.grad_norm + 1e-6)) : 1.0;
    const double t = static_cast<double>(steps_);
    const ops::AdamStep step{.lr = static_cast<float>(outcome.lr),
                             .beta1 = static_cast<float>(options_.beta1),
                             .beta2 = static_cast<float>(options_.beta2),
                             .eps = static_cast<float>(options_.eps),
                             .weight_decay = static_cast<float>(options_.weight_decay),
                             .correction1 = static_cast<float>(1.0 - std::pow(options_.beta1, t)),
                             .correction2 = static_cast<float>(1.0 - std::pow(options_.beta2, t)),
                             .grad_scale = static_cast<float>(clip)};
    for (size_t i = 0; i < parameters_.size(); ++i) {
      at::Tensor weight = parameters_[i].tensor.detach();
      const at::Tensor grad = parameters_[i].tensor.grad();
      ops::adamw(weight, grad.defined() ? grad : at::zeros_like(weight), m_[i], v_[i], step);
    }
  }
  zero_grad();
  return outcome;
}

std::vector<checkpoint::NamedTensor> AdamW::state() const {
  std::vector<checkpoint::NamedTensor> all;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    all.push_back({parameters_[i].name, parameters_[i].tensor.detach()});
    all.push_back({parameters_[i].name + ".m", m_[i]});
    all.push_back({parameters_[i].name + ".v", v_[i]});
  }
  return all;
}

}  // namespace nereus::train
