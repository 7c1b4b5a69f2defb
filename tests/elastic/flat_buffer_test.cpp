#include "nereus/elastic/flat_buffer.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

TEST(FlatBuffer, ShardsFollowOneAnotherAndMapBackToTensors) {
  const auto model = model_tensors({plan::Role::actor, test::small_model(2, 4, 2, 5, 7), 0});
  std::vector<int32_t> tensors(static_cast<size_t>(model.count()));
  std::iota(tensors.begin(), tensors.end(), 0);
  for (const int32_t tp : {1, 2, 3}) {
    const FlatBuffer buffer(model, tensors, tp, tp - 1);
    for (const int32_t dp : {1, 2, 3, 7, 1000}) {
      int64_t at = 0;
      std::vector<int64_t> covered(tensors.size());
      for (int32_t data = 0; data < dp; ++data) {
        int64_t size = 0;
        for (const FlatPart& part : buffer.shard(dp, data)) {
          EXPECT_EQ(part.flat.begin, at);
          EXPECT_EQ(part.flat.size(), part.box.elements());
          EXPECT_GT(part.box.elements(), 0);
          EXPECT_TRUE(model.part(part.tensor, tp, tp - 1).contains(part.box));
          at = part.flat.end;
          size += part.flat.size();
          covered[static_cast<size_t>(part.tensor)] += part.box.elements();
        }
        EXPECT_LE(size, buffer.elements() / dp + 1);
      }
      EXPECT_EQ(at, buffer.elements());
      for (const int32_t tensor : tensors)
        EXPECT_EQ(covered[static_cast<size_t>(tensor)], model.part(tensor, tp, tp - 1).elements());
    }
  }
}

TEST(FlatBuffer, WithoutTensors) {
  const auto model = model_tensors({plan::Role::actor, test::small_model(1, 1, 1, 3, 3), 0});
  const FlatBuffer buffer(model, {}, 1, 0);
  EXPECT_EQ(buffer.elements(), 0);
  EXPECT_TRUE(buffer.shard(3, 1).empty());
}

}  // namespace
}  // namespace nereus::elastic
