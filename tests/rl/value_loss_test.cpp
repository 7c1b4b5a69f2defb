#include "nereus/rl/value_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/rl/golden.h"

namespace nereus::rl {
namespace {

TEST(ValueLoss, EqualsReferenceWithGradients) {
  const Json json = golden().at("value");
  const auto read = [&](const char* key) {
    return tensor(json.at(key).get<std::vector<double>>(), at::kDouble);
  };
  const at::Tensor values = read("values").set_requires_grad(true);
  at::Tensor old = read("old");
  old.masked_fill_(read("mask").eq(0), std::numeric_limits<double>::quiet_NaN());
  const ValueLoss result =
      value_loss(values, old, read("returns"), read("mask"), 7, {.clip = 0.2, .weight = 0.1});
  EXPECT_NEAR(result.value_loss, json.at("loss").get<double>(), 1e-12);
  EXPECT_NEAR(result.loss.item<double>(), 0.1 * result.value_loss, 1e-12);
  result.loss.backward();
  const auto expected = json.at("grad").get<std::vector<double>>();
  const auto got = numbers(values.grad());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], 0.1 * expected[i], 1e-12);
}

TEST(ValueLoss, NothingActiveIsExactlyZero) {
  const at::Tensor values = tensor<double>({1, 2}, at::kDouble).set_requires_grad(true);
  const ValueLoss result =
      value_loss(values, values.detach(), values.detach() + 1.0, at::zeros_like(values), 0, {});
  EXPECT_EQ(result.loss.item<double>(), 0.0);
  result.loss.backward();
  EXPECT_EQ(numbers(values.grad()), (std::vector<double>{0, 0}));
}

TEST(ValueLoss, RefusesByKey) {
  EXPECT_TRUE(validate(ValueOptions{}));
  EXPECT_FALSE(validate(ValueOptions{.clip = 0}));
  EXPECT_FALSE(validate(ValueOptions{.weight = -1}));
}

}  // namespace
}  // namespace nereus::rl
