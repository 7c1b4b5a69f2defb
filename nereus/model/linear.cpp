#include "nereus/model/linear.h"

#include "nereus/ops/layers.h"

namespace nereus::model {

at::Tensor Linear::forward(const at::Tensor& x) const {
  if (!packed_) return ops::linear(x, weight_, low_rank_);
  at::Tensor y = packed_->forward(x);
  packed_low_rank_.add(x, y);
  return y;
}

at::Tensor Linear::forward_normed(const at::Tensor& x, const at::Tensor& norm_weight, double eps) const {
  if (packed_) return forward(ops::rms_norm(x, norm_weight, eps));
  return ops::norm_linear(x, norm_weight, eps, weight_, low_rank_);
}

at::Tensor Linear::forward_gated(const at::Tensor& gate_up) const {
  if (packed_) return forward(ops::swiglu(gate_up));
  return ops::swiglu_linear(gate_up, weight_, low_rank_);
}

void Linear::pack(kernels::Element element) {
  packed_ = std::make_shared<ops::PackedLinear>(weight_, element);
  weight_ = at::Tensor();
}

Linear Linear::packed(kernels::Element element) const {
  Linear copy(modules_, at::Tensor());
  copy.packed_ = std::make_shared<ops::PackedLinear>(weight_, element);
  copy.low_rank_ = low_rank_;
  copy.packed_low_rank_ = ops::PackedLowRank(low_rank_);
  return copy;
}

void Linear::set_low_rank(ops::LowRank low_rank) {
  low_rank_ = std::move(low_rank);
  if (packed_) packed_low_rank_ = ops::PackedLowRank(low_rank_);
}

void Linear::copy_policy(const Linear& trained) {
  if (trained.weight_.requires_grad())
    packed_ = std::make_shared<ops::PackedLinear>(trained.weight_, packed_->element());
  packed_low_rank_ = ops::PackedLowRank(trained.low_rank_);
}

int64_t Linear::in() const {
  return packed_ ? packed_->in() : weight_.size(1);
}

}  // namespace nereus::model
