#include "nereus/ops/layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "nereus/kernels/rows.h"
#include "nereus/ops/view.h"

namespace nereus::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct EmbeddingFunction : torch::autograd::Function<EmbeddingFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& table, const at::Tensor& ids) {
    at::Tensor out = at::empty({ids.size(0), table.size(1)}, table.options());
    kernels::embedding(const_view(table), ids.const_data_ptr<int32_t>(), view(out));
    ctx->save_for_backward({table, ids});
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    at::Tensor dtable = at::zeros_like(saved[0]);
    kernels::embedding_backward(saved[1].const_data_ptr<int32_t>(), const_view(grads[0].contiguous()),
                                view(dtable));
    return {dtable, at::Tensor()};
  }
};

struct RmsNormFunction : torch::autograd::Function<RmsNormFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, double eps) {
    at::Tensor y = at::empty_like(x), inverse_rms = at::empty({x.size(0)}, x.options());
    kernels::rms_norm(const_view(x), weight.const_data_ptr<float>(), static_cast<float>(eps), view(y),
                      inverse_rms.data_ptr<float>());
    ctx->save_for_backward({x, weight, inverse_rms});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx = at::empty_like(saved[0]), dweight;
    if (ctx->needs_input_grad(1)) dweight = at::zeros_like(saved[1]);
    kernels::rms_norm_backward(const_view(saved[0]), saved[1].const_data_ptr<float>(),
                               saved[2].const_data_ptr<float>(), const_view(dy), view(dx),
                               dweight.defined() ? dweight.data_ptr<float>() : nullptr);
    return {dx, dweight, at::Tensor()};
  }
};

struct SwigluFunction : torch::autograd::Function<SwigluFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate_up) {
    at::Tensor y = at::empty({gate_up.size(0), gate_up.size(1) / 2}, gate_up.options());
    kernels::swiglu(const_view(gate_up), view(y));
    ctx->save_for_backward({gate_up});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor gate_up = ctx->get_saved_variables()[0];
    at::Tensor dgate_up = at::empty_like(gate_up);
    kernels::swiglu_backward(const_view(gate_up), const_view(grads[0].contiguous()), view(dgate_up));
    return {dgate_up};
  }
};

}  // namespace

at::Tensor embedding(const at::Tensor& table, const at::Tensor& ids) {
  if (!table.is_cpu()) return at::embedding(table, ids);
  return EmbeddingFunction::apply(table, ids);
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  if (!x.is_cpu()) return x * at::rsqrt(x.square().mean(-1, true) + eps) * weight;
  return RmsNormFunction::apply(x, weight, eps);
}

at::Tensor swiglu(const at::Tensor& gate_up) {
  const int64_t n = gate_up.size(1) / 2;
  if (!gate_up.is_cpu()) return at::silu(gate_up.narrow(1, 0, n)) * gate_up.narrow(1, n, n);
  return SwigluFunction::apply(gate_up);
}

}  // namespace nereus::ops
