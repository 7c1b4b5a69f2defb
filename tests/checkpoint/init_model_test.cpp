#include "nereus/checkpoint/init_model.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "nereus/base/random.h"
#include "nereus/spec/tensor_table.h"

namespace nereus::checkpoint {
namespace {

const spec::ModelConfig kConfig = {.vocab = 500,
                                   .hidden = 64,
                                   .intermediate = 96,
                                   .layers = 2,
                                   .heads = 4,
                                   .kv_heads = 2,
                                   .head_dim = 16,
                                   .context = 32};

TEST(InitModel, NormsAreOneAndTheRestHasTheDeviation) {
  const auto tensors = init_model(kConfig, 5);
  const auto table = spec::tensor_table(kConfig);
  ASSERT_EQ(tensors.size(), table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    const at::Tensor& tensor = tensors[i].tensor;
    EXPECT_EQ(tensors[i].name, table[i].name);
    EXPECT_EQ(tensor.sizes(), at::IntArrayRef(table[i].shape));
    if (tensor.dim() == 1) {
      EXPECT_EQ(tensor.min().item<float>(), 1);
      EXPECT_EQ(tensor.max().item<float>(), 1);
    } else {
      EXPECT_NEAR(tensor.mean().item<float>(), 0, 0.002) << tensors[i].name;
      EXPECT_NEAR(tensor.std().item<float>(), 0.02, 0.001) << tensors[i].name;
    }
  }
}

TEST(InitModel, ThreadsDoNotChangeTheValues) {
  const at::Tensor embedding = init_model(kConfig, 5).front().tensor;
  RandomStream random(5, 0);
  for (int64_t i = 0; i < embedding.numel(); ++i)
    ASSERT_EQ(embedding.data_ptr<float>()[i], static_cast<float>(0.02 * random.normal())) << i;
}

TEST(InitModel, DependsOnTheSeedAlone) {
  const auto a = init_model(kConfig, 5), b = init_model(kConfig, 5), c = init_model(kConfig, 6);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(at::equal(a[i].tensor, b[i].tensor)) << a[i].name;
    EXPECT_EQ(at::equal(a[i].tensor, c[i].tensor), a[i].tensor.dim() == 1) << a[i].name;
  }
  EXPECT_FALSE(at::equal(a[2].tensor, a[11].tensor)) << "q of two layers";
}

}  // namespace
}  // namespace nereus::checkpoint
