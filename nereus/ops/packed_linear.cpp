#include "nereus/ops/packed_linear.h"

#include <ATen/ops/empty.h>

#include "nereus/kernels/rows.h"
#include "nereus/ops/product.h"
#include "nereus/ops/view.h"

namespace nereus::ops {

PackedLowRank::PackedLowRank(const LowRank& low_rank) : scale_(low_rank.scale) {
  if (!low_rank.defined()) return;
  const at::Tensor a = low_rank.a.detach(), b = low_rank.b.detach();
  const int64_t rank = b.size(1);
  // clone(): for rank 1 a transposed view counts as contiguous and would share the trained memory.
  for (const LowRankPart& p : low_rank.parts)
    parts_.push_back({a.narrow(0, p.a_begin, rank).t().clone(at::MemoryFormat::Contiguous),
                      b.narrow(0, p.b_begin, p.out_rows).t().clone(at::MemoryFormat::Contiguous),
                      p.out_begin});
}

void PackedLowRank::add(const at::Tensor& x, at::Tensor& y) const {
  for (const Part& p : parts_)
    kernels::low_rank_add(const_view(x), const_view(p.a), const_view(p.b), scale_,
                          columns(view(y), p.out_begin, p.b.size(1)));
}

PackedLinear::PackedLinear(const at::Tensor& weight, kernels::Element element)
    : element_(element), weights_(const_view(weight.detach()), element, matmul_precision()) {}

at::Tensor PackedLinear::forward(const at::Tensor& x) const {
  at::Tensor y = at::empty({x.size(0), out()}, x.options());
  weights_.multiply(const_view(x), view(y));
  return y;
}

}  // namespace nereus::ops
