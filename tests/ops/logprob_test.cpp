#include "nereus/ops/logprob.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <sys/resource.h>
#include <torch/csrc/autograd/grad_mode.h>

#include "tests/ops/compare.h"

namespace nereus::ops {
namespace {

const at::Tensor& targets() {
  static const at::Tensor ids = at::tensor({0, 99, 5, 5, 42, 7, 1, 98, 3}, at::kInt);
  return ids;
}

/// Log-probs and, where asked for, entropies after them.
at::Tensor reference(const at::Tensor& hidden, const at::Tensor& head, double temperature, bool entropy) {
  const at::Tensor all = at::log_softmax(at::linear(hidden, head) / temperature, 1);
  const at::Tensor chosen = all.gather(1, targets().to(at::kLong).unsqueeze(1)).squeeze(1);
  return entropy ? at::cat({chosen, -(all.exp() * all).sum(1)}) : chosen;
}

at::Tensor ours(const at::Tensor& hidden, const at::Tensor& head, const LogprobOptions& options) {
  const ChosenLogprob out = chosen_logprob(hidden, head, targets(), options);
  return options.entropy_gradient ? at::cat({out.logprob, out.entropy}) : out.logprob;
}

TEST(ChosenLogprob, TrainedHeadEqualsLibTorchInAnyChunks) {
  for (const float temperature : {1.0F, 0.6F})
    for (const int64_t chunk : {1, 4, 256})
      for (const bool entropy : {false, true}) {
        const LogprobOptions options{temperature, entropy, entropy, chunk};
        compare([&](const auto& in) { return ours(in[0], in[1], options); },
                [&](const auto& in) {
                  return reference(in[0], in[1], static_cast<double>(temperature), entropy);
                },
                {at::randn({9, 16}), at::randn({100, 16})});
      }
}

TEST(ChosenLogprob, FrozenHeadEqualsLibTorch) {
  const at::Tensor head = at::randn({100, 16});
  for (const bool entropy_gradient : {false, true}) {
    const LogprobOptions options{0.8F, true, entropy_gradient, 4};
    compare([&](const auto& in) { return ours(in[0], head, options); },
            [&](const auto& in) {
              return reference(in[0], head.to(at::kDouble), static_cast<double>(0.8F), entropy_gradient);
            },
            {at::randn({9, 16})});
  }
}

TEST(ChosenLogprob, EntropyIsMeasuredWithoutGradients) {
  const at::NoGradGuard guard;
  const at::Tensor hidden = at::randn({9, 16}), head = at::randn({100, 16});
  const ChosenLogprob out = chosen_logprob(hidden, head, targets(), {.entropy = true});
  EXPECT_LT(relative_error(at::cat({out.logprob, out.entropy}),
                           reference(hidden.to(at::kDouble), head.to(at::kDouble), 1.0, true)),
            1e-5);
  EXPECT_FALSE(chosen_logprob(hidden, head, targets(), {}).entropy.defined());
}

/// The most memory that this process has held, in bytes.
int64_t peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

TEST(ChosenLogprob, NeverHoldsAllLogits) {
  // Fault 59: unchunked logits do not fit [NeMo-RL 2871].
  constexpr int64_t kTokens = 4096, kVocab = 50000, kAll = 4 * kTokens * kVocab;
  const at::Tensor hidden = at::randn({kTokens, 8}).requires_grad_(),
                   head = at::randn({kVocab, 8}).requires_grad_();
  const at::Tensor ids = at::zeros({kTokens}, at::kInt);
  const int64_t before = peak();
  chosen_logprob(hidden, head, ids, {}).logprob.sum().backward();
  EXPECT_LT(peak() - before, kAll / 4);
  EXPECT_GT(head.grad().norm().item<double>(), 0);
}

}  // namespace
}  // namespace nereus::ops
