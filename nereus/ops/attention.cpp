#include "nereus/ops/attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <cstring>

#include "nereus/kernels/parallel.h"
#include "nereus/kernels/rows.h"
#include "nereus/ops/view.h"

namespace nereus::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::AttentionShape kernel_shape(const AttentionShape& s) {
  return {s.heads, s.kv_heads, s.head_dim, 1.0F / std::sqrt(static_cast<float>(s.head_dim))};
}

/// Queries and keys lie side by side and turn alike.
void rotate(const at::Tensor& qkv, const at::Tensor& positions, const at::Tensor& frequencies,
            const AttentionShape& s, int direction) {
  kernels::rotary(columns(view(qkv), 0, s.q_width() + s.kv_width()), s.heads + s.kv_heads, s.head_dim,
                  positions.const_data_ptr<int32_t>(), frequencies.const_data_ptr<float>(), direction);
}

template <class T>
struct Parts {
  kernels::MatrixView<T> q, k, v;
  Parts(kernels::MatrixView<T> qkv, const AttentionShape& s)
      : q(columns(qkv, 0, s.q_width())),
        k(columns(qkv, s.q_width(), s.kv_width())),
        v(columns(qkv, s.q_width() + s.kv_width(), s.kv_width())) {}
};

/// Carries the plan from the forward to the backward pass.
struct PlanHolder : torch::CustomClassHolder {
  PlanHolder(std::shared_ptr<const AttentionPlan> p, const AttentionShape& s)
      : plan(std::move(p)), shape(s) {}
  std::shared_ptr<const AttentionPlan> plan;
  AttentionShape shape;
};

struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv, const at::Tensor& positions,
                            const at::Tensor& frequencies, const c10::intrusive_ptr<PlanHolder>& holder) {
    const AttentionShape& s = holder->shape;
    rotate(qkv, positions, frequencies, s, 1);
    at::Tensor out = at::empty({qkv.size(0), s.q_width()}, qkv.options());
    at::Tensor logsumexp = at::empty({qkv.size(0), s.heads}, qkv.options());
    const Parts<const float> in(const_view(qkv), s);
    kernels::attention_forward(kernel_shape(s), holder->plan->view(), in.q,
                               {in.k.data, in.v.data, in.k.row_stride, kernels::Element::f32}, view(out),
                               logsumexp.data_ptr<float>());
    ctx->save_for_backward({qkv.detach(), positions, frequencies, out, logsumexp});
    ctx->saved_data["plan"] = c10::IValue::make_capsule(holder);
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto holder = c10::static_intrusive_pointer_cast<PlanHolder>(ctx->saved_data["plan"].toCapsule());
    const AttentionShape& s = holder->shape;
    at::Tensor dqkv = at::zeros_like(saved[0]);
    const Parts<const float> in(const_view(saved[0]), s);
    const Parts<float> gradient(view(dqkv), s);
    kernels::attention_backward(kernel_shape(s), holder->plan->view(), in.q, in.k, in.v, const_view(saved[3]),
                                saved[4].const_data_ptr<float>(), const_view(grads[0].contiguous()),
                                gradient.q, gradient.k, gradient.v);
    rotate(dqkv, saved[1], saved[2], s, -1);
    return {dqkv, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

/// Row i to row slots[i] of the store.
void write_rows(kernels::ConstMatrix from, const at::Tensor& slots, const at::Tensor& store) {
  const int64_t* slot = slots.const_data_ptr<int64_t>();
  const int64_t width = from.cols;
  kernels::parallel_ranges(from.rows, width, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const kernels::ConstMatrix token = rows(from, row, 1);
      if (store.scalar_type() == at::kBFloat16)
        kernels::to_bf16(token, static_cast<uint16_t*>(store.data_ptr()) + slot[row] * width, width);
      else
        std::memcpy(store.data_ptr<float>() + slot[row] * width, token.data,
                    static_cast<size_t>(width) * sizeof(float));
    }
  });
}

}  // namespace

at::Tensor packed_attention(at::Tensor qkv, const at::Tensor& positions, const at::Tensor& frequencies,
                            const AttentionShape& shape, std::shared_ptr<const AttentionPlan> plan) {
  return AttentionFunction::apply(qkv, positions, frequencies,
                                  c10::make_intrusive<PlanHolder>(std::move(plan), shape));
}

at::Tensor paged_attention(at::Tensor qkv, const at::Tensor& positions, const at::Tensor& frequencies,
                           const AttentionShape& shape, const AttentionPlan& plan, const at::Tensor& slots,
                           at::Tensor keys, at::Tensor values) {
  rotate(qkv, positions, frequencies, shape, 1);
  const Parts<const float> in(const_view(qkv), shape);
  const bool bf16 = keys.scalar_type() == at::kBFloat16;
  write_rows(in.k, slots, keys);
  write_rows(in.v, slots, values);
  at::Tensor out = at::empty({qkv.size(0), shape.q_width()}, qkv.options());
  kernels::attention_forward(kernel_shape(shape), plan.view(), in.q,
                             {keys.data_ptr(), values.data_ptr(), shape.kv_width(),
                              bf16 ? kernels::Element::bf16 : kernels::Element::f32},
                             view(out), nullptr);
  return out;
}

}  // namespace nereus::ops
