#include "nereus/model/linear.h"

#include <torch/csrc/autograd/grad_mode.h>

namespace nereus::model {

at::Tensor Linear::forward(const at::Tensor& x) const {
  if (!packed_) return ops::linear(x, weight_, low_rank_);
  at::Tensor y = packed_->forward(x);
  packed_low_rank_.add(x, y);
  return y;
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

int64_t Linear::in() const { return packed_ ? packed_->in() : weight_.size(1); }

}  // namespace nereus::model
