#include "nereus/ops/linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "nereus/kernels/gemm.h"
#include "nereus/ops/view.h"

namespace nereus::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::vector<int64_t> encode(const std::vector<LowRankPart>& parts) {
  std::vector<int64_t> flat;
  for (const LowRankPart& p : parts) flat.insert(flat.end(), {p.out_begin, p.out_rows, p.a_begin, p.b_begin});
  return flat;
}

std::vector<LowRankPart> decode(const std::vector<int64_t>& flat) {
  std::vector<LowRankPart> parts;
  for (size_t i = 0; i < flat.size(); i += 4) parts.push_back({flat[i], flat[i + 1], flat[i + 2], flat[i + 3]});
  return parts;
}

/// y[:, part] += h[:, part] · B[part]ᵀ, with h [tokens, parts · rank] already scaled.
void add_low_rank(const at::Tensor& h, const at::Tensor& b, const std::vector<LowRankPart>& parts, at::Tensor& y) {
  const int64_t rank = b.size(1);
  for (const LowRankPart& p : parts)
    kernels::gemm(columns(const_view(h), p.a_begin, rank), rows(const_view(b), p.b_begin, p.out_rows).transposed(),
                  columns(view(y), p.out_begin, p.out_rows), 1.0F);
}

/// Gradients of the stacked B, and of h before scaling.
std::pair<at::Tensor, at::Tensor> low_rank_backward(const at::Tensor& h, const at::Tensor& b, const at::Tensor& dy,
                                                    const std::vector<LowRankPart>& parts, float scale) {
  at::Tensor db = at::empty_like(b), dh = at::empty_like(h);
  const int64_t rank = b.size(1);
  for (const LowRankPart& p : parts) {
    const auto dy_part = columns(const_view(dy), p.out_begin, p.out_rows);
    kernels::gemm(dy_part.transposed(), columns(const_view(h), p.a_begin, rank), rows(view(db), p.b_begin, p.out_rows));
    kernels::gemm(dy_part, rows(const_view(b), p.b_begin, p.out_rows), columns(view(dh), p.a_begin, rank));
  }
  dh.mul_(scale);
  return {db, dh};
}

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  /// `adapter_a` and `adapter_b` are empty where there is no adapter: apply takes no undefined tensors.
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& adapter_a, const std::optional<at::Tensor>& adapter_b,
                            const std::vector<LowRankPart>& parts, double scale) {
    const at::Tensor a = adapter_a.value_or(at::Tensor()), b = adapter_b.value_or(at::Tensor());
    at::Tensor y = at::empty({x.size(0), weight.size(0)}, x.options());
    kernels::gemm(const_view(x), const_view(weight).transposed(), view(y));
    at::Tensor h;
    if (a.defined()) {
      h = at::empty({x.size(0), a.size(0)}, x.options());
      kernels::gemm(const_view(x), const_view(a).transposed(), view(h));
      h.mul_(scale);
      add_low_rank(h, b, parts, y);
    }
    ctx->save_for_backward({x, weight, a, b, h});
    ctx->saved_data["parts"] = encode(parts);
    ctx->saved_data["scale"] = scale;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &a = saved[2], &b = saved[3], &h = saved[4];
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx, dweight, da, db, dh;
    if (a.defined()) {
      const auto parts = decode(ctx->saved_data["parts"].toIntVector());
      std::tie(db, dh) = low_rank_backward(h, b, dy, parts, static_cast<float>(ctx->saved_data["scale"].toDouble()));
      da = at::empty_like(a);
      kernels::gemm(const_view(dh).transposed(), const_view(x), view(da));
    }
    if (ctx->needs_input_grad(0)) {
      dx = at::empty_like(x);
      kernels::gemm(const_view(dy), const_view(weight), view(dx));
      if (a.defined()) kernels::gemm(const_view(dh), const_view(a), view(dx), 1.0F);
    }
    if (ctx->needs_input_grad(1)) {
      dweight = at::empty_like(weight);
      kernels::gemm(const_view(dy).transposed(), const_view(x), view(dweight));
    }
    return {dx, dweight, da, db, at::Tensor(), at::Tensor()};
  }
};

/// The same from LibTorch's operators, for devices other than the CPU.
at::Tensor linear_by_torch(const at::Tensor& x, const at::Tensor& weight, const LowRank& low_rank) {
  const at::Tensor y = at::linear(x, weight);
  if (!low_rank.defined()) return y;
  const int64_t rank = low_rank.b.size(1);
  const at::Tensor h = at::linear(x, low_rank.a) * low_rank.scale;
  std::vector<at::Tensor> slices;
  int64_t done = 0;
  for (const LowRankPart& p : low_rank.parts) {
    if (p.out_begin > done) slices.push_back(at::zeros({x.size(0), p.out_begin - done}, x.options()));
    slices.push_back(at::linear(h.narrow(1, p.a_begin, rank), low_rank.b.narrow(0, p.b_begin, p.out_rows)));
    done = p.out_begin + p.out_rows;
  }
  if (done < y.size(1)) slices.push_back(at::zeros({x.size(0), y.size(1) - done}, x.options()));
  return y + at::cat(slices, 1);
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const LowRank& low_rank) {
  if (!x.is_cpu()) return linear_by_torch(x, weight, low_rank);
  const bool adapted = low_rank.defined();
  return LinearFunction::apply(x, weight, adapted ? std::optional(low_rank.a) : std::nullopt,
                               adapted ? std::optional(low_rank.b) : std::nullopt, low_rank.parts,
                               static_cast<double>(low_rank.scale));
}

}  // namespace nereus::ops
