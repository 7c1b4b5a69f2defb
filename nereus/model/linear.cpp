#include "nereus/model/linear.h"

#include "nereus/ops/layers.h"

namespace nereus::model {

void LayerAdapters::add(const at::Tensor& x, at::Tensor& y) const {
  for (const AdapterRows& part : rows) {
    if (!part.adapter) continue;
    at::Tensor to = y.narrow(0, part.first, part.rows);
    part.adapter->linears[linear].add(x.narrow(0, part.first, part.rows), to);
  }
}

at::Tensor Linear::forward(const at::Tensor& x, const LayerAdapters& adapters) const {
  if (!packed_) return ops::linear(x, weight_, low_rank_);
  at::Tensor y = packed_->forward(x);
  adapters.add(x, y);
  return y;
}

at::Tensor Linear::forward_normed(const at::Tensor& x, const at::Tensor& norm_weight, double eps,
                                  const LayerAdapters& adapters) const {
  if (packed_) return forward(ops::rms_norm(x, norm_weight, eps), adapters);
  return ops::norm_linear(x, norm_weight, eps, weight_, low_rank_);
}

at::Tensor Linear::forward_gated(const at::Tensor& gate_up, const LayerAdapters& adapters) const {
  if (packed_) return forward(ops::swiglu(gate_up), adapters);
  return ops::swiglu_linear(gate_up, weight_, low_rank_);
}

void Linear::pack(kernels::Element element) {
  packed_ = std::make_shared<ops::PackedLinear>(weight_, element);
  weight_ = at::Tensor();
}

Linear Linear::packed(kernels::Element element) const {
  Linear copy(modules_, at::Tensor());
  copy.packed_ = std::make_shared<ops::PackedLinear>(weight_, element);
  return copy;
}

void Linear::copy_weights(const Linear& trained) {
  if (trained.weight_.requires_grad())
    packed_ = std::make_shared<ops::PackedLinear>(trained.weight_, packed_->element());
}

int64_t Linear::in() const {
  return packed_ ? packed_->in() : weight_.size(1);
}

}  // namespace nereus::model
