#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "nereus/model/packed_adapter.h"
#include "nereus/ops/linear.h"
#include "nereus/ops/packed_linear.h"

namespace nereus::model {

/// A module of the checkpoint ("model.layers.0.self_attn.q_proj") inside a fused layer.
struct Module {
  std::string path;
  int64_t out_begin = 0, out_rows = 0;
};

/// A linear layer, fused from the modules that read the same input (q, k, v; gate, up), with optional LoRA.
/// Either plain (weights in memory as in the checkpoint, trainable, with its own adapter) or packed
/// (reordered for sampling, no gradients, adapters come with the batch). Not thread-safe while it is changed.
class Linear {
 public:
  Linear(std::vector<Module> modules, at::Tensor weight)
      : modules_(std::move(modules)), weight_(std::move(weight)) {}

  /// x [tokens, in] to [tokens, out]. `adapters` are those of the rows of a packed layer.
  at::Tensor forward(const at::Tensor& x, const LayerAdapters& adapters) const;
  /// forward(rms_norm(x)) and forward(swiglu(gate_up)), without keeping the layer's input for gradients.
  at::Tensor forward_normed(const at::Tensor& x, const at::Tensor& norm_weight, double eps,
                            const LayerAdapters& adapters) const;
  at::Tensor forward_gated(const at::Tensor& gate_up, const LayerAdapters& adapters) const;

  /// Replaces the plain weights by packed ones and lets the plain ones go.
  void pack(kernels::Element element);
  /// A packed layer with the same weights and no adapter; this one keeps its own.
  Linear packed(kernels::Element element) const;
  /// Takes over the weights of a plain layer of the same shape where they train.
  void copy_weights(const Linear& trained);

  const std::vector<Module>& modules() const { return modules_; }
  int64_t in() const;
  const at::Tensor& weight() const { return weight_; }
  /// REQUIRES: not packed.
  void set_low_rank(ops::LowRank low_rank) { low_rank_ = std::move(low_rank); }
  const ops::LowRank& low_rank() const { return low_rank_; }

 private:
  std::vector<Module> modules_;
  at::Tensor weight_;  ///< [out, in]; undefined where packed
  std::shared_ptr<const ops::PackedLinear> packed_;
  ops::LowRank low_rank_;
};

}  // namespace nereus::model
