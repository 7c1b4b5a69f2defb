// Reading a checkpoint into fused layers.

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "nereus/model/transformer.h"
#include "nereus/spec/tensor_table.h"

namespace nereus::model {
namespace {

using spec::TensorKind;
using spec::TensorSpec;

/// "model.layers.0.self_attn.q_proj.weight" without ".weight".
std::string module_path(const TensorSpec& spec) {
  return spec.name.substr(0, spec.name.rfind('.'));
}

class Loader {
 public:
  Loader(const checkpoint::Source& source, std::optional<kernels::Element> pack)
      : source_(source), table_(spec::tensor_table(source.config())), pack_(pack) {}

  Result<at::Tensor> tensor(TensorKind kind) const { return source_.read(find(kind, -1)); }
  Result<at::Tensor> norm(int64_t layer, std::string_view name) const {
    return source_.read(*std::find_if(table_.begin(), table_.end(), [&](const TensorSpec& s) {
      return s.kind == TensorKind::norm && s.layer == layer && s.module() == name;
    }));
  }

  /// The modules of `kinds` as one layer: each is read straight into its rows of the fused weight.
  Result<Linear> fused(std::initializer_list<TensorKind> kinds, int64_t layer) const {
    std::vector<Module> modules;
    int64_t out = 0, in = 0;
    for (TensorKind kind : kinds) {
      const TensorSpec& spec = find(kind, layer);
      modules.push_back({module_path(spec), out, spec.shape[0]});
      out += spec.shape[0];
      in = spec.shape[1];
    }
    const at::Tensor weight = at::empty({out, in}, at::kFloat);
    auto module = modules.begin();
    for (TensorKind kind : kinds) {
      auto status =
          source_.read_into(find(kind, layer), weight.narrow(0, module->out_begin, module->out_rows));
      if (!status) return pass(status);
      ++module;
    }
    Linear linear(std::move(modules), weight);
    if (pack_) linear.pack(*pack_);
    return linear;
  }

  Result<Layer> layer(int64_t index) const {
    auto attention_norm = norm(index, "input_layernorm"), mlp_norm = norm(index, "post_attention_layernorm");
    auto qkv = fused({TensorKind::q, TensorKind::k, TensorKind::v}, index), o = fused({TensorKind::o}, index);
    auto gate_up = fused({TensorKind::gate, TensorKind::up}, index), down = fused({TensorKind::down}, index);
    for (const auto* part : {&attention_norm, &mlp_norm})
      if (!*part) return pass(*part);
    for (const auto* part : {&qkv, &o, &gate_up, &down})
      if (!*part) return pass(*part);
    return Layer{*attention_norm, *mlp_norm,           std::move(*qkv),
                 std::move(*o),   std::move(*gate_up), std::move(*down)};
  }

 private:
  const TensorSpec& find(TensorKind kind, int64_t layer) const {
    return *std::find_if(table_.begin(), table_.end(),
                         [&](const TensorSpec& s) { return s.kind == kind && s.layer == layer; });
  }

  const checkpoint::Source& source_;
  std::vector<TensorSpec> table_;
  std::optional<kernels::Element> pack_;
};

}  // namespace

Result<Transformer> Transformer::load(const checkpoint::Source& source,
                                      std::optional<kernels::Element> pack) {
  const Loader loader(source, pack);
  Transformer model;
  model.config_ = source.config();
  auto embedding = loader.tensor(TensorKind::embedding), final_norm = loader.tensor(TensorKind::final_norm);
  for (const auto* part : {&embedding, &final_norm})
    if (!*part) return pass(*part);
  model.embedding_ = *embedding;
  model.final_norm_ = *final_norm;
  model.head_ = *embedding;
  if (!model.config_.tied) {
    auto head = loader.tensor(TensorKind::head);
    if (!head) return pass(head);
    model.head_ = *head;
  }
  for (int64_t index = 0; index < model.config_.layers; ++index) {
    auto layer = loader.layer(index);
    if (!layer) return pass(layer);
    model.layers_.push_back(std::move(*layer));
  }
  if (pack) {
    model.packed_head_ = std::make_shared<ops::PackedLinear>(model.head_, *pack);
    if (!model.config_.tied) model.head_ = at::Tensor();
  }
  std::vector<float> frequencies = model.config_.rope_frequencies();
  model.frequencies_ =
      at::from_blob(frequencies.data(), {static_cast<int64_t>(frequencies.size())}, at::kFloat).clone();
  return model;
}

}  // namespace nereus::model
