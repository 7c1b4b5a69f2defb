#include "nereus/ops/layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include "nereus/ops/softmax.h"
#include "tests/ops/compare.h"

namespace nereus::ops {
namespace {

TEST(RmsNorm, EqualsLibTorch) {
  compare([](const auto& in) { return rms_norm(in[0], in[1], 1e-5); },
          [](const auto& in) { return in[0] * at::rsqrt(in[0].square().mean(-1, true) + 1e-5) * in[1]; },
          {at::randn({7, 48}), at::randn({48})});
}

TEST(Swiglu, EqualsLibTorch) {
  compare([](const auto& in) { return swiglu(in[0]); },
          [](const auto& in) { return at::silu(in[0].narrow(1, 0, 20)) * in[0].narrow(1, 20, 20); },
          {at::randn({7, 40}) * 5});
}

TEST(Embedding, RepeatedIdsAddUp) {
  const at::Tensor ids = at::tensor({3, 0, 3, 9, 3}, at::kInt);
  compare([&](const auto& in) { return ops::embedding(in[0], ids); },
          [&](const auto& in) { return at::embedding(in[0], ids.to(at::kLong)); }, {at::randn({10, 6})});
}

TEST(Softmax, EachRowHasItsTemperature) {
  const at::Tensor logits = at::randn({5, 1000}) * 4, inverse = at::tensor({1.0F, 0.5F, 2.0F, 10.0F, 0.01F});
  at::Tensor ours = logits.clone();
  softmax(ours, inverse);
  EXPECT_LT(relative_error(ours, at::softmax(logits.to(at::kDouble) * inverse.unsqueeze(1), 1)), 1e-5);
}

}  // namespace
}  // namespace nereus::ops
