#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/checkpoint/adapter.h"
#include "nereus/checkpoint/source.h"
#include "nereus/model/attention.h"
#include "nereus/model/linear.h"
#include "nereus/model/lora.h"
#include "nereus/ops/logprob.h"
#include "nereus/spec/model_config.h"

namespace nereus::model {

struct Layer {
  at::Tensor attention_norm, mlp_norm;  ///< [hidden]
  Linear qkv, o, gate_up, down;

  std::array<const Linear*, 4> linears() const { return {&qkv, &o, &gate_up, &down}; }
  std::array<Linear*, 4> linears() { return {&qkv, &o, &gate_up, &down}; }
};

/// A tensor that the optimizer updates. Fused ones cover several tensors of the checkpoint.
struct Parameter {
  std::string name;
  at::Tensor tensor;
};

/// A decoder-only transformer: weights and the one forward pass of training, scoring and sampling. Whose
/// queries see which keys is the caller's (Attention). Not thread-safe while weights change.
class Transformer {
 public:
  /// Reads all weights (fp32). With `pack`, layers are packed one by one for sampling and cannot train.
  static Result<Transformer> load(const checkpoint::Source& source,
                                  std::optional<kernels::Element> pack = std::nullopt);

  /// A packed copy for sampling, without the adapter; embedding and norms are shared unless they train.
  Transformer packed(kernels::Element element) const;
  /// Takes over the weights that training changed in a plain model that this one was packed from.
  void copy_weights(const Transformer& trained);

  /// A snapshot of this plain model's adapter, or one from a file, for packed models of the same shape. Null
  /// without an adapter. Error: a module does not fit the model.
  std::shared_ptr<const PackedAdapter> packed_adapter() const;
  Result<std::shared_ptr<const PackedAdapter>> pack_adapter(const checkpoint::Adapter& adapter) const;

  /// Starts a new adapter / takes one from a file; the base is frozen, the adapter trains. REQUIRES: not
  /// packed.
  Status add_lora(const LoraOptions& options, uint64_t seed);
  Status add_lora(const checkpoint::Adapter& adapter);
  /// The adapter in PEFT's terms; its tensors are views of the trained ones. Empty without LoRA.
  std::optional<checkpoint::Adapter> adapter() const;
  /// Trains all weights instead (no adapter present).
  void train_all();

  /// Every tensor under its checkpoint name; views. The adapter is not merged. REQUIRES: not packed.
  std::vector<checkpoint::NamedTensor> weights() const;
  /// What trains, in a fixed order.
  std::vector<Parameter> parameters() const;

  /// Final hidden states [tokens, hidden], normed, of ids [tokens] (int32). With `recompute`, only each
  /// layer's input is kept for the backward pass and the layer runs again there (hence the shared attention).
  at::Tensor hidden(const at::Tensor& ids, const std::shared_ptr<Attention>& attention,
                    bool recompute = false) const;
  /// The same of a packed model, with the adapters of its rows; rows that no part covers have the base alone.
  at::Tensor hidden(const at::Tensor& ids, Attention& attention, std::span<const AdapterRows> adapters) const;
  /// [rows, vocab], without gradients.
  at::Tensor logits(const at::Tensor& hidden) const;
  /// Log-probs of targets [rows] (int32) given hidden [rows, hidden], with gradients.
  ops::ChosenLogprob chosen_logprob(const at::Tensor& hidden, const at::Tensor& targets,
                                    const ops::LogprobOptions& options) const;

  const spec::ModelConfig& config() const { return config_; }
  const std::vector<Layer>& layers() const { return layers_; }
  /// Inverse frequencies of the rotary embedding, [head_dim / 2].
  const at::Tensor& rope_frequencies() const { return frequencies_; }

 private:
  Transformer() = default;
  /// Every weight, fused as the layers hold it.
  std::vector<Parameter> all_parameters() const;
  at::Tensor layer_forward(int64_t index, const at::Tensor& x, Attention& attention,
                           std::span<const AdapterRows> adapters) const;
  at::Tensor recomputed_layer(int64_t index, const at::Tensor& x,
                              const std::shared_ptr<Attention>& attention) const;

  spec::ModelConfig config_;
  at::Tensor embedding_;  ///< [vocab, hidden]
  std::vector<Layer> layers_;
  at::Tensor final_norm_;  ///< [hidden]
  at::Tensor head_;        ///< [vocab, hidden]; the embedding where tied
  std::shared_ptr<const ops::PackedLinear> packed_head_;
  at::Tensor frequencies_;
  std::optional<LoraOptions> lora_;  ///< of the adapter that is there
};

}  // namespace nereus::model
