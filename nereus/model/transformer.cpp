#include "nereus/model/transformer.h"

#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/grad_mode.h>

#include "nereus/ops/layers.h"

namespace nereus::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using LayerFunction = std::function<at::Tensor(const at::Tensor&)>;

struct LayerHolder : torch::CustomClassHolder {
  explicit LayerHolder(LayerFunction f) : forward(std::move(f)) {}
  LayerFunction forward;
};

/// Activation recomputation (Chen et al. 2016, https://arxiv.org/abs/1604.06174): the forward pass keeps the
/// layer's input alone; the backward pass runs the layer again and differentiates that.
struct Recompute : torch::autograd::Function<Recompute> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x,
                            const c10::intrusive_ptr<LayerHolder>& layer) {
    ctx->save_for_backward({x});
    ctx->saved_data["layer"] = c10::IValue::make_capsule(layer);
    return layer->forward(x);  // gradients are off inside a Function
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto layer = c10::static_intrusive_pointer_cast<LayerHolder>(ctx->saved_data["layer"].toCapsule());
    at::Tensor x = ctx->get_saved_variables()[0].detach();
    x.requires_grad_();
    const at::AutoGradMode with_gradients(true);
    const at::Tensor y = layer->forward(x);
    torch::autograd::backward({y}, {grads[0]});
    return {x.grad(), at::Tensor()};
  }
};

}  // namespace

at::Tensor Transformer::layer_forward(int64_t index, const at::Tensor& x, Attention& attention,
                                      std::span<const AdapterRows> adapters) const {
  const Layer& layer = layers_[static_cast<size_t>(index)];
  const size_t first = static_cast<size_t>(index) * layer.linears().size();
  const auto eps = config_.norm_eps;
  const at::Tensor qkv = layer.qkv.forward_normed(x, layer.attention_norm, eps, {adapters, first});
  const at::Tensor middle = x + layer.o.forward(attention.attend(index, qkv), {adapters, first + 1});
  const at::Tensor gate_up = layer.gate_up.forward_normed(middle, layer.mlp_norm, eps, {adapters, first + 2});
  return middle + layer.down.forward_gated(gate_up, {adapters, first + 3});
}

at::Tensor Transformer::recomputed_layer(int64_t index, const at::Tensor& x,
                                         const std::shared_ptr<Attention>& attention) const {
  // The input must want a gradient for the engine to call backward, even where only the layer's adapter
  // trains.
  const at::Tensor input = x.requires_grad() ? x : x.detach().requires_grad_();
  return Recompute::apply(input,
                          c10::make_intrusive<LayerHolder>([this, index, attention](const at::Tensor& in) {
                            return layer_forward(index, in, *attention, {});
                          }));
}

at::Tensor Transformer::hidden(const at::Tensor& ids, const std::shared_ptr<Attention>& attention,
                               bool recompute) const {
  at::Tensor x = ops::embedding(embedding_, ids);
  const bool keep_inputs_only = recompute && torch::autograd::GradMode::is_enabled();
  for (int64_t index = 0; index < config_.layers; ++index)
    x = keep_inputs_only ? recomputed_layer(index, x, attention) : layer_forward(index, x, *attention, {});
  return ops::rms_norm(x, final_norm_, config_.norm_eps);
}

at::Tensor Transformer::hidden(const at::Tensor& ids, Attention& attention,
                               std::span<const AdapterRows> adapters) const {
  at::Tensor x = ops::embedding(embedding_, ids);
  for (int64_t index = 0; index < config_.layers; ++index) x = layer_forward(index, x, attention, adapters);
  return ops::rms_norm(x, final_norm_, config_.norm_eps);
}

at::Tensor Transformer::logits(const at::Tensor& hidden) const {
  if (packed_head_) return packed_head_->forward(hidden);
  const at::NoGradGuard guard;
  return ops::linear(hidden, head_, {});
}

ops::ChosenLogprob Transformer::chosen_logprob(const at::Tensor& hidden, const at::Tensor& targets,
                                               const ops::LogprobOptions& options) const {
  return ops::chosen_logprob(hidden, head_, targets, options);
}

Transformer Transformer::packed(kernels::Element element) const {
  Transformer copy;
  copy.config_ = config_;
  copy.embedding_ = embedding_.requires_grad() ? embedding_.detach().clone() : embedding_;
  copy.final_norm_ = final_norm_.requires_grad() ? final_norm_.detach().clone() : final_norm_;
  copy.frequencies_ = frequencies_;
  copy.packed_head_ = std::make_shared<ops::PackedLinear>(head_, element);
  for (const Layer& layer : layers_)
    copy.layers_.push_back(
        {layer.attention_norm.requires_grad() ? layer.attention_norm.detach().clone() : layer.attention_norm,
         layer.mlp_norm.requires_grad() ? layer.mlp_norm.detach().clone() : layer.mlp_norm,
         layer.qkv.packed(element), layer.o.packed(element), layer.gate_up.packed(element),
         layer.down.packed(element)});
  return copy;
}

void Transformer::copy_weights(const Transformer& trained) {
  if (!trained.embedding_.requires_grad()) return;  // an adapter trains
  const at::NoGradGuard guard;
  embedding_.copy_(trained.embedding_);
  final_norm_.copy_(trained.final_norm_);
  packed_head_ = std::make_shared<ops::PackedLinear>(trained.head_, packed_head_->element());
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& mine = layers_[i];
    const Layer& theirs = trained.layers_[i];
    mine.attention_norm.copy_(theirs.attention_norm);
    mine.mlp_norm.copy_(theirs.mlp_norm);
    for (size_t k = 0; k < mine.linears().size(); ++k) mine.linears()[k]->copy_weights(*theirs.linears()[k]);
  }
}

void Transformer::train_all() {
  for (Parameter& parameter : all_parameters()) parameter.tensor.requires_grad_();
}

std::vector<Parameter> Transformer::all_parameters() const {
  std::vector<Parameter> all{{"model.embed_tokens.weight", embedding_}};
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    const Layer& layer = layers_[i];
    all.push_back({prefix + "input_layernorm.weight", layer.attention_norm});
    all.push_back({prefix + "qkv.weight", layer.qkv.weight()});
    all.push_back({prefix + "o.weight", layer.o.weight()});
    all.push_back({prefix + "post_attention_layernorm.weight", layer.mlp_norm});
    all.push_back({prefix + "gate_up.weight", layer.gate_up.weight()});
    all.push_back({prefix + "down.weight", layer.down.weight()});
  }
  all.push_back({"model.norm.weight", final_norm_});
  if (!config_.tied) all.push_back({"lm_head.weight", head_});
  return all;
}

std::vector<Parameter> Transformer::parameters() const {
  std::vector<Parameter> result;
  if (!lora_) {
    for (Parameter& parameter : all_parameters())
      if (parameter.tensor.requires_grad()) result.push_back(std::move(parameter));
    return result;
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const std::pair<const char*, const Linear*> fused[] = {
        {"qkv", &layer.qkv}, {"o", &layer.o}, {"gate_up", &layer.gate_up}, {"down", &layer.down}};
    for (const auto& [name, linear] : fused) {
      if (!linear->low_rank().defined()) continue;
      const std::string prefix = "model.layers." + std::to_string(i) + "." + name;
      result.push_back({prefix + ".lora_A", linear->low_rank().a});
      result.push_back({prefix + ".lora_B", linear->low_rank().b});
    }
  }
  return result;
}

std::vector<checkpoint::NamedTensor> Transformer::weights() const {
  std::vector<checkpoint::NamedTensor> result{{"model.embed_tokens.weight", embedding_.detach()}};
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    const Layer& layer = layers_[i];
    result.push_back({prefix + "input_layernorm.weight", layer.attention_norm.detach()});
    result.push_back({prefix + "post_attention_layernorm.weight", layer.mlp_norm.detach()});
    for (const Linear* linear : layer.linears())
      for (const Module& module : linear->modules())
        result.push_back({module.path + ".weight",
                          linear->weight().detach().narrow(0, module.out_begin, module.out_rows)});
  }
  result.push_back({"model.norm.weight", final_norm_.detach()});
  if (!config_.tied) result.push_back({"lm_head.weight", head_.detach()});
  return result;
}

}  // namespace nereus::model
