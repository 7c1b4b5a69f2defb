#pragma once

#include <cstdint>
#include <vector>

#include "nereus/elastic/rect.h"
#include "nereus/plan/job.h"
#include "nereus/plan/plan.h"
#include "nereus/spec/tensor_table.h"

namespace nereus::elastic {

/// A logical tensor of a model as units see it. Fused projections are separate tensors here: q, k, v, gate
/// and up each have their own boxes, however a kernel stores them.
struct ModelTensor {
  spec::TensorSpec spec;
  bool adapter = false;  ///< a LoRA factor
  bool trained = false;  ///< where the model is trained at all
};

/// The tensors of a model: the table of `spec`; critics and rewards with a head of one value (never tied);
/// then, for LoRA, the factors of every linear layer under PEFT's names: A is [rank, in], B is [out, rank].
struct ModelTensors {
  plan::Role role = plan::Role::actor;
  spec::ModelConfig config;
  bool tied = false;      ///< the embedding serves as head, too
  bool trainable = true;  ///< actors and critics
  std::vector<ModelTensor> tensors;

  int32_t count() const { return static_cast<int32_t>(tensors.size()); }
  /// Whether pipeline stage `index` of `pp` holds the tensor: its layer, the embedding first, final norm and
  /// head last; a tied embedding at both ends.
  bool on_stage(int32_t tensor, int32_t pp, int32_t index) const;
  /// What tensor-parallel rank `index` of `tp` holds: may be empty. Heads are split whole, query heads with
  /// their KV head; KV heads are copied to several ranks where tp exceeds their number.
  Rect part(int32_t tensor, int32_t tp, int32_t index) const;
  Rect whole(int32_t tensor) const { return part(tensor, 1, 0); }
};
ModelTensors model_tensors(const plan::Model& model);

}  // namespace nereus::elastic
