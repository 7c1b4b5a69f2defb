#include "nereus/ops/logprob.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <algorithm>

#include "nereus/kernels/rows.h"
#include "nereus/ops/product.h"
#include "nereus/ops/view.h"

namespace nereus::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Calls body(first row, rows, logits [rows, vocab]) for one chunk of logits after the other.
template <class Body>
void for_each_chunk(const at::Tensor& hidden, const at::Tensor& head, int64_t chunk, const Body& body) {
  const int64_t tokens = hidden.size(0);
  at::Tensor buffer = at::empty({std::min(chunk, tokens), head.size(0)}, hidden.options());
  for (int64_t begin = 0; begin < tokens; begin += chunk) {
    const int64_t count = std::min(chunk, tokens - begin);
    const kernels::Matrix logits = rows(view(buffer), 0, count);
    product(rows(const_view(hidden), begin, count), const_view(head).transposed(), logits);
    body(begin, count, logits);
  }
}

kernels::ConstMatrix as_const(const kernels::Matrix& m) {
  return {m.data, m.rows, m.cols, m.row_stride, m.col_stride};
}

const float* data_or_null(const at::Tensor& t, int64_t offset) {
  return t.defined() ? t.const_data_ptr<float>() + offset : nullptr;
}

struct LogprobFunction : torch::autograd::Function<LogprobFunction> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& hidden, const at::Tensor& head,
                               const at::Tensor& targets, const LogprobOptions& options, bool keep_gradient) {
    const float inverse = 1.0F / options.temperature;
    const int32_t* target = targets.const_data_ptr<int32_t>();
    at::Tensor logprob = at::empty({hidden.size(0)}, hidden.options());
    at::Tensor logsumexp = at::empty_like(logprob), entropy, row_gradient;
    if (options.entropy) entropy = at::empty_like(logprob);
    if (keep_gradient) row_gradient = at::empty_like(hidden);
    const at::Tensor ones = at::ones({std::min(options.chunk, hidden.size(0))}, hidden.options());
    for_each_chunk(hidden, head, options.chunk, [&](int64_t begin, int64_t count, kernels::Matrix logits) {
      kernels::chosen_logprob(as_const(logits), target + begin, inverse, logprob.data_ptr<float>() + begin,
                              logsumexp.data_ptr<float>() + begin,
                              options.entropy ? entropy.data_ptr<float>() + begin : nullptr);
      if (!keep_gradient) return;
      kernels::chosen_logprob_backward(logits, target + begin, inverse,
                                       logsumexp.const_data_ptr<float>() + begin,
                                       ones.const_data_ptr<float>(), nullptr, nullptr);
      product(as_const(logits), const_view(head), rows(view(row_gradient), begin, count));
    });
    ctx->saved_data["chunk"] = options.chunk;
    ctx->saved_data["inverse"] = static_cast<double>(inverse);
    ctx->save_for_backward({hidden, head, targets, logsumexp, entropy, row_gradient});
    if (entropy.defined() && !options.entropy_gradient) ctx->mark_non_differentiable({entropy});
    return options.entropy ? variable_list{logprob, entropy} : variable_list{logprob};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &hidden = saved[0], &head = saved[1], &targets = saved[2], &logsumexp = saved[3],
                     &entropy = saved[4], &row_gradient = saved[5];
    const at::Tensor dlogprob = grads[0].defined() ? grads[0].contiguous() : at::zeros_like(logsumexp);
    if (row_gradient.defined()) return {row_gradient * dlogprob.unsqueeze(1), {}, {}, {}, {}};
    const at::Tensor dentropy = grads.size() > 1 && grads[1].defined() ? grads[1].contiguous() : at::Tensor();
    const float inverse = static_cast<float>(ctx->saved_data["inverse"].toDouble());
    at::Tensor dhidden = at::empty_like(hidden), dhead;
    if (ctx->needs_input_grad(1)) dhead = at::zeros_like(head);
    for_each_chunk(
        hidden, head, ctx->saved_data["chunk"].toInt(),
        [&](int64_t begin, int64_t count, kernels::Matrix logits) {
          kernels::chosen_logprob_backward(
              logits, targets.const_data_ptr<int32_t>() + begin, inverse,
              logsumexp.const_data_ptr<float>() + begin, dlogprob.const_data_ptr<float>() + begin,
              dentropy.defined() ? data_or_null(entropy, begin) : nullptr, data_or_null(dentropy, begin));
          product(as_const(logits), const_view(head), rows(view(dhidden), begin, count));
          if (dhead.defined())
            product(as_const(logits).transposed(), rows(const_view(hidden), begin, count), view(dhead), 1.0F);
        });
    return {dhidden, dhead, {}, {}, {}};
  }
};

/// The same from LibTorch's operators, for devices other than the CPU; holds all logits of its rows.
ChosenLogprob by_torch(const at::Tensor& hidden, const at::Tensor& head, const at::Tensor& targets,
                       const LogprobOptions& options) {
  const at::Tensor all = at::log_softmax(at::linear(hidden, head) / options.temperature, 1);
  ChosenLogprob result{all.gather(1, targets.to(at::kLong).unsqueeze(1)).squeeze(1), {}};
  if (options.entropy) result.entropy = -(all.exp() * all).sum(1);
  if (options.entropy && !options.entropy_gradient) result.entropy = result.entropy.detach();
  return result;
}

}  // namespace

ChosenLogprob chosen_logprob(const at::Tensor& hidden, const at::Tensor& head, const at::Tensor& targets,
                             const LogprobOptions& options) {
  if (!hidden.is_cpu()) return by_torch(hidden, head, targets, options);
  const bool keep_gradient = torch::autograd::GradMode::is_enabled() && hidden.requires_grad() &&
                             !head.requires_grad() && !options.entropy_gradient;
  const variable_list out = LogprobFunction::apply(hidden, head, targets, options, keep_gradient);
  return {out[0], options.entropy ? out[1] : at::Tensor()};
}

}  // namespace nereus::ops
