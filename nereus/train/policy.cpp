#include "nereus/train/policy.h"

#include <ATen/ops/index_select.h>
#include <torch/csrc/autograd/grad_mode.h>

namespace nereus::train {

ops::ChosenLogprob Policy::forward(const PackedBatch& batch, bool entropy_gradient) const {
  const spec::ModelConfig& c = model_.config();
  const auto attention = std::make_shared<PackedAttention>(
      batch, ops::AttentionShape{c.heads, c.kv_heads, c.head_dim}, model_.rope_frequencies());
  const at::Tensor hidden = model_.hidden(batch.ids, attention, recompute_);
  return model_.chosen_logprob(
      at::index_select(hidden, 0, batch.predicting), batch.targets,
      {.temperature = temperature_, .entropy = true, .entropy_gradient = entropy_gradient});
}

ops::ChosenLogprob Policy::score(const PackedBatch& batch) const {
  const at::NoGradGuard guard;
  return forward(batch, false);
}

Reference::Reference(std::vector<model::Parameter> parameters) : parameters_(std::move(parameters)) {
  for (const model::Parameter& p : parameters_) copies_.push_back(p.tensor.detach().clone());
}

void Reference::swap() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& trained = parameters_[i].tensor;
    const at::Tensor current = trained.detach();
    trained.set_data(copies_[i]);
    copies_[i] = current;
  }
}

ops::ChosenLogprob Reference::score(const Policy& policy, const PackedBatch& batch) {
  swap();
  auto result = policy.score(batch);
  swap();
  return result;
}

void Reference::mix(double share) {
  const at::NoGradGuard guard;
  for (size_t i = 0; i < parameters_.size(); ++i)
    copies_[i].mul_(1 - share).add_(parameters_[i].tensor.detach(), share);
}

std::vector<checkpoint::NamedTensor> Reference::state() const {
  std::vector<checkpoint::NamedTensor> all;
  for (size_t i = 0; i < parameters_.size(); ++i)
    all.push_back({parameters_[i].name + ".reference", copies_[i]});
  return all;
}

}  // namespace nereus::train
