#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "nereus/model/transformer.h"
#include "nereus/train/packing.h"

namespace nereus::train {

/// The model as a policy over packed batches. Not thread-safe.
class Policy {
 public:
  Policy(const model::Transformer& model, float temperature, bool recompute)
      : model_(model), temperature_(temperature), recompute_(recompute) {}

  /// Log-prob and entropy of every completion token [tokens], with gradients where they are enabled.
  ops::ChosenLogprob forward(const PackedBatch& batch, bool entropy_gradient) const;
  /// The same without gradients.
  ops::ChosenLogprob score(const PackedBatch& batch) const;

 private:
  const model::Transformer& model_;
  float temperature_;
  bool recompute_;
};

/// A frozen copy of the trained tensors: the policy that the KL is measured from. With LoRA that is the
/// starting adapter, a few megabytes; no second model is held. Not thread-safe.
class Reference {
 public:
  explicit Reference(std::vector<model::Parameter> parameters);

  /// As Policy::score, with the reference's tensors in the model's place meanwhile.
  ops::ChosenLogprob score(const Policy& policy, const PackedBatch& batch);
  /// Moves the copy: share · policy + (1 − share) · copy.
  void mix(double share);
  /// The copies under "NAME.reference": views.
  std::vector<checkpoint::NamedTensor> state() const;

 private:
  void swap();

  std::vector<model::Parameter> parameters_;
  std::vector<at::Tensor> copies_;
};

}  // namespace nereus::train
