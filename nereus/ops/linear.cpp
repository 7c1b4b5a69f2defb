#include "nereus/ops/linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "nereus/kernels/rows.h"
#include "nereus/ops/layers.h"
#include "nereus/ops/product.h"
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
  for (size_t i = 0; i < flat.size(); i += 4)
    parts.push_back({flat[i], flat[i + 1], flat[i + 2], flat[i + 3]});
  return parts;
}

/// y[:, part] += h[:, part] · B[part]ᵀ, with h [tokens, parts · rank] already scaled.
void add_low_rank(const at::Tensor& h, const at::Tensor& b, const std::vector<LowRankPart>& parts,
                  at::Tensor& y) {
  const int64_t rank = b.size(1);
  for (const LowRankPart& p : parts)
    product(columns(const_view(h), p.a_begin, rank), rows(const_view(b), p.b_begin, p.out_rows).transposed(),
            columns(view(y), p.out_begin, p.out_rows), 1.0F);
}

/// Gradients of the stacked B, and of h before scaling.
std::pair<at::Tensor, at::Tensor> low_rank_backward(const at::Tensor& h, const at::Tensor& b,
                                                    const at::Tensor& dy,
                                                    const std::vector<LowRankPart>& parts, float scale) {
  at::Tensor db = at::empty_like(b), dh = at::empty_like(h);
  const int64_t rank = b.size(1);
  for (const LowRankPart& p : parts) {
    const auto dy_part = columns(const_view(dy), p.out_begin, p.out_rows);
    product(dy_part.transposed(), columns(const_view(h), p.a_begin, rank),
            rows(view(db), p.b_begin, p.out_rows));
    product(dy_part, rows(const_view(b), p.b_begin, p.out_rows), columns(view(dh), p.a_begin, rank));
  }
  dh.mul_(scale);
  return {db, dh};
}

/// What the layer's input is made from. A normed or gated input is cheap to compute again, so the backward
/// pass does that instead of keeping it.
enum class InputKind : int64_t { plain, normed, gated };

struct InputMaker {
  InputKind kind = InputKind::plain;
  float eps = 0;

  /// `source` as it is, normed by `norm_weight`, or gated.
  at::Tensor make(const at::Tensor& source, const at::Tensor& norm_weight, at::Tensor* inverse_rms) const {
    if (kind == InputKind::plain) return source;
    const int64_t width = kind == InputKind::gated ? source.size(1) / 2 : source.size(1);
    at::Tensor input = at::empty({source.size(0), width}, source.options());
    if (kind == InputKind::gated) {
      kernels::swiglu(const_view(source), view(input));
    } else {
      *inverse_rms = at::empty({source.size(0)}, source.options());
      kernels::rms_norm(const_view(source), norm_weight.const_data_ptr<float>(), eps, view(input),
                        inverse_rms->data_ptr<float>());
    }
    return input;
  }

  /// Gradient of the source from that of the input; adds to dnorm where it is defined.
  at::Tensor backward(const at::Tensor& source, const at::Tensor& norm_weight, const at::Tensor& inverse_rms,
                      const at::Tensor& dinput, at::Tensor& dnorm) const {
    if (kind == InputKind::plain) return dinput;
    at::Tensor dsource = at::empty_like(source);
    if (kind == InputKind::gated)
      kernels::swiglu_backward(const_view(source), const_view(dinput), view(dsource));
    else
      kernels::rms_norm_backward(const_view(source), norm_weight.const_data_ptr<float>(),
                                 inverse_rms.const_data_ptr<float>(), const_view(dinput), view(dsource),
                                 dnorm.defined() ? dnorm.data_ptr<float>() : nullptr);
    return dsource;
  }
};

/// Tensors that may be absent are optional: apply takes no undefined ones.
using Maybe = std::optional<at::Tensor>;
Maybe maybe(const at::Tensor& t) {
  return t.defined() ? Maybe(t) : std::nullopt;
}

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& source, const at::Tensor& weight,
                            const Maybe& maybe_norm, const Maybe& maybe_a, const Maybe& maybe_b,
                            const std::vector<LowRankPart>& parts, double scale, const InputMaker& maker) {
    const at::Tensor norm = maybe_norm.value_or(at::Tensor()), a = maybe_a.value_or(at::Tensor()),
                     b = maybe_b.value_or(at::Tensor());
    at::Tensor inverse_rms, h;
    const at::Tensor x = maker.make(source, norm, &inverse_rms);
    at::Tensor y = at::empty({x.size(0), weight.size(0)}, x.options());
    product(const_view(x), const_view(weight).transposed(), view(y));
    if (a.defined()) {
      h = at::empty({x.size(0), a.size(0)}, x.options());
      product(const_view(x), const_view(a).transposed(), view(h));
      h.mul_(scale);
      add_low_rank(h, b, parts, y);
    }
    ctx->save_for_backward({source, weight, norm, a, b, inverse_rms, h});
    ctx->saved_data["parts"] = encode(parts);
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["kind"] = static_cast<int64_t>(maker.kind);
    ctx->saved_data["eps"] = static_cast<double>(maker.eps);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &source = saved[0], &weight = saved[1], &norm = saved[2], &a = saved[3], &b = saved[4],
                     &inverse_rms = saved[5], &h = saved[6];
    const InputMaker maker{static_cast<InputKind>(ctx->saved_data["kind"].toInt()),
                           static_cast<float>(ctx->saved_data["eps"].toDouble())};
    const bool wants_weight = ctx->needs_input_grad(1),
               wants_norm = norm.defined() && ctx->needs_input_grad(2);
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor x, dsource, dweight, dnorm, da, db, dh, unused;
    if (a.defined() || wants_weight) x = maker.make(source, norm, &unused);
    if (a.defined()) {
      const auto parts = decode(ctx->saved_data["parts"].toIntVector());
      std::tie(db, dh) =
          low_rank_backward(h, b, dy, parts, static_cast<float>(ctx->saved_data["scale"].toDouble()));
      da = at::empty_like(a);
      product(const_view(dh).transposed(), const_view(x), view(da));
    }
    if (wants_weight) {
      dweight = at::empty_like(weight);
      product(const_view(dy).transposed(), const_view(x), view(dweight));
    }
    if (ctx->needs_input_grad(0) || wants_norm) {
      at::Tensor dx = x.defined() && x.is_alias_of(source) ? at::empty_like(x)
                      : x.defined()                        ? x  // no longer needed
                                    : at::empty({dy.size(0), weight.size(1)}, dy.options());
      product(const_view(dy), const_view(weight), view(dx));
      if (a.defined()) product(const_view(dh), const_view(a), view(dx), 1.0F);
      if (wants_norm) dnorm = at::zeros_like(norm);
      dsource = maker.backward(source, norm, inverse_rms, dx, dnorm);
    }
    return {dsource, dweight, dnorm, da, db, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

at::Tensor apply(const at::Tensor& source, const at::Tensor& norm, const at::Tensor& weight,
                 const LowRank& low_rank, const InputMaker& maker) {
  return LinearFunction::apply(source, weight, maybe(norm), maybe(low_rank.a), maybe(low_rank.b),
                               low_rank.parts, static_cast<double>(low_rank.scale), maker);
}

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
  return apply(x, at::Tensor(), weight, low_rank, {});
}

at::Tensor norm_linear(const at::Tensor& x, const at::Tensor& norm_weight, double eps,
                       const at::Tensor& weight, const LowRank& low_rank) {
  if (!x.is_cpu()) return linear_by_torch(rms_norm(x, norm_weight, eps), weight, low_rank);
  return apply(x, norm_weight, weight, low_rank, {InputKind::normed, static_cast<float>(eps)});
}

at::Tensor swiglu_linear(const at::Tensor& gate_up, const at::Tensor& weight, const LowRank& low_rank) {
  if (!gate_up.is_cpu()) return linear_by_torch(swiglu(gate_up), weight, low_rank);
  return apply(gate_up, at::Tensor(), weight, low_rank, {InputKind::gated, 0.0F});
}

}  // namespace nereus::ops
