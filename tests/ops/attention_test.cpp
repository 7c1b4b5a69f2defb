#include "nereus/ops/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <cmath>
#include <limits>

#include "tests/ops/compare.h"

namespace nereus::ops {
namespace {

const AttentionShape kShape{4, 2, 8};
constexpr int64_t kRows = 9;

// A prompt of four rows and two completions after it, of three and two rows.
std::shared_ptr<AttentionPlan> forest() {
  auto plan = std::make_shared<AttentionPlan>();
  plan->runs = {{0, 4, 0, 1}, {4, 3, 1, 2}, {7, 2, 3, 2}};
  plan->spans = {{0, 4}, {0, 4}, {4, 3}, {0, 4}, {7, 2}};
  return plan;
}
at::Tensor positions() {
  return at::tensor({0, 1, 2, 3, 4, 5, 6, 4, 5}, at::kInt);
}
at::Tensor frequencies() {
  return at::tensor({1.0F, 0.3F, 0.1F, 0.03F});
}

at::Tensor forest_mask() {
  at::Tensor mask = at::full({kRows, kRows}, -std::numeric_limits<double>::infinity(), at::kDouble);
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j <= i; ++j)
      if (j < 4 || i < 7 || j >= 7) mask[i][j] = 0;
  return mask;
}

at::Tensor rotated(const at::Tensor& x) {  // [rows, heads, head_dim]
  const at::Tensor angle =
      positions().to(at::kDouble).unsqueeze(1) * frequencies().to(at::kDouble).unsqueeze(0);
  const at::Tensor c = angle.cos().unsqueeze(1), s = angle.sin().unsqueeze(1);
  const at::Tensor a = x.narrow(2, 0, 4), b = x.narrow(2, 4, 4);
  return at::cat({a * c - b * s, b * c + a * s}, 2);
}

at::Tensor reference(const at::Tensor& qkv) {
  const at::Tensor q = rotated(qkv.narrow(1, 0, 32).reshape({kRows, 4, 8})).transpose(0, 1);
  const at::Tensor k =
      rotated(qkv.narrow(1, 32, 16).reshape({kRows, 2, 8})).transpose(0, 1).repeat_interleave(2, 0);
  const at::Tensor v = qkv.narrow(1, 48, 16).reshape({kRows, 2, 8}).transpose(0, 1).repeat_interleave(2, 0);
  const at::Tensor scores = at::matmul(q, k.transpose(1, 2)) / std::sqrt(8.0) + forest_mask();
  return at::matmul(at::softmax(scores, -1), v).transpose(0, 1).reshape({kRows, 32});
}

TEST(PackedAttention, ForestEqualsLibTorch) {
  compare(
      [](const auto& in) {
        return packed_attention(in[0] * 1.0, positions(), frequencies(), kShape, forest());
      },
      [](const auto& in) { return reference(in[0]); }, {at::randn({kRows, 64})});
}

TEST(PagedAttention, ReadsWhatItStored) {
  const at::NoGradGuard guard;
  const at::Tensor qkv = at::randn({kRows, 64});
  const at::Tensor expected = reference(qkv.to(at::kDouble));
  // Rows of the batch scattered over a larger store; the plan speaks of rows of the store.
  const at::Tensor slots = at::tensor({8, 9, 10, 11, 20, 21, 22, 2, 3}, at::kLong);
  AttentionPlan plan;
  plan.runs = {{0, 4, 0, 1}, {4, 3, 1, 2}, {7, 2, 3, 2}};
  plan.spans = {{8, 4}, {8, 4}, {20, 3}, {8, 4}, {2, 2}};
  for (const auto& [type, tolerance] : {std::pair{at::kFloat, 1e-5}, std::pair{at::kBFloat16, 1e-2}}) {
    at::Tensor keys = at::zeros({24, 16}, type), values = at::zeros({24, 16}, type);
    const at::Tensor out =
        paged_attention(qkv.clone(), positions(), frequencies(), kShape, plan, slots, keys, values);
    EXPECT_LT(relative_error(out, expected), tolerance);
    EXPECT_EQ(keys[0].abs().sum().item<float>(), 0);
    // Decoding the last row again, alone, over the filled store.
    AttentionPlan last;
    last.runs = {{0, 1, 0, 2}};
    last.spans = {{8, 4}, {2, 2}};
    const at::Tensor again =
        paged_attention(qkv.narrow(0, 8, 1).clone(), at::tensor({5}, at::kInt), frequencies(), kShape, last,
                        at::tensor({3}, at::kLong), keys, values);
    EXPECT_LT(relative_error(again, expected.narrow(0, 8, 1)), tolerance);
  }
}

}  // namespace
}  // namespace nereus::ops
