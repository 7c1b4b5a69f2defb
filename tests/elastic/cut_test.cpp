#include "nereus/elastic/cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

using plan::Role;
using plan::Stage;
using testing::HasSubstr;

/// One actor's change from one train placement to another.
class CutTest : public testing::Test {
 protected:
  CutTest() { job_.models.push_back({Role::actor, test::small_model(4, 4, 2, 8, 16), 0}); }

  std::vector<ModelChange> change(const plan::Placement& from, const plan::Placement& to) {
    ModelChange result{.tensors = model_tensors(job_.models[0])};
    result.before = state_of(places_, job_, result.tensors, {from}, sets_);
    result.valid = result.before;
    result.after = state_of(places_, job_, result.tensors, {to}, sets_);
    return {result};
  }

  plan::Job job_;
  Places places_{test::small_cluster({4, 4})};
  PlaceSets sets_;
};

TEST_F(CutTest, NothingWhereNothingChanges) {
  const auto placed = test::placement(Role::actor, Stage::train, {2, 2, 2});
  const Cut result = value_or_throw(cut(places_, change(placed, placed), sets_, {}));
  EXPECT_TRUE(result.bundles.empty());
  EXPECT_TRUE(result.drop.empty());
  EXPECT_TRUE(result.create.empty());
}

TEST_F(CutTest, BundlesHoldNoMoreThanAsked) {
  const auto changes = change(test::placement(Role::actor, Stage::train, {4, 1, 1}),
                              test::placement(Role::actor, Stage::train, {1, 1, 4}));
  const int64_t largest = 16 * 8 * 4 * 3;  // the embedding's optimizer state
  for (const int64_t limit : {int64_t{1}, int64_t{1000}, int64_t{1} << 40}) {
    const Cut result = value_or_throw(cut(places_, changes, sets_, {.bundle_bytes = limit}));
    for (const Bundle& bundle : result.bundles) {
      for (int32_t i = bundle.first_fill; i < bundle.last_fill; ++i)
        EXPECT_LE(result.fill[static_cast<size_t>(i)].bytes, std::max(limit, largest));
    }
    EXPECT_EQ(result.bundles.size() == 2, limit == int64_t{1} << 40) << "weights, and optimizer state";
  }
}

TEST_F(CutTest, BundlesGrowWhereThereWouldBeTooManyHops) {
  const auto changes = change(test::placement(Role::actor, Stage::train, {1, 1, 4}),
                              test::placement(Role::actor, Stage::train, {4, 1, 1}, 4));
  const Cut fine = value_or_throw(cut(places_, changes, sets_, {.bundle_bytes = 1}));
  const Cut coarse = value_or_throw(cut(places_, changes, sets_, {.bundle_bytes = 1, .max_hops = 100}));
  EXPECT_GT(fine.bundles.size(), 2 * coarse.bundles.size());
}

TEST_F(CutTest, GradientsAreNotMoved) {
  auto from = test::placement(Role::actor, Stage::train, {2, 1, 1});
  auto to = test::placement(Role::actor, Stage::train, {2, 1, 1});
  from.zero = 1;
  to.zero = 2;  // only gradients are sharded anew
  const Cut result = value_or_throw(cut(places_, change(from, to), sets_, {}));
  EXPECT_TRUE(result.bundles.empty());
  ASSERT_EQ(result.create.size(), 2U);
  ASSERT_EQ(result.drop.size(), 2U);
  // Whole tensors of a shard are the pieces that they were; the tensor that is cut is new.
  int64_t elements = 0;
  for (const ModelTensor& tensor : model_tensors(job_.models[0]).tensors) elements += tensor.spec.elements();
  for (size_t device = 0; device < 2; ++device)
    EXPECT_EQ(4 * elements - result.drop[device].bytes + result.create[device].bytes, 2 * elements);
}

TEST_F(CutTest, MissingStateIsNamedAndRefused) {
  auto changes = change(test::placement(Role::actor, Stage::train, {2, 1, 1}),
                        test::placement(Role::actor, Stage::train, {1, 1, 1}));
  changes[0].valid = without(changes[0].before, sets_.add({1}), sets_);
  const auto refused = cut(places_, changes, sets_, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("no place holds actor: optimizer state of model.layers."));
  EXPECT_THAT(refused.error().message, HasSubstr("a checkpoint is needed"));
  const Cut result = value_or_throw(cut(places_, changes, sets_, {.recovery = Recovery::current}));
  int64_t bytes = 0, elements = 0;
  for (const Missing& missing : result.missing) {
    EXPECT_EQ(missing.lane, LaneKind::optimizer) << "the other replica has the weights";
    bytes += missing.bytes;
  }
  for (const ModelTensor& tensor : changes[0].tensors.tensors) elements += tensor.spec.elements();
  EXPECT_EQ(bytes, elements / 2 * 12);
}

TEST_F(CutTest, RecreatedWeightsComeAfterTheirMasters) {
  const auto changes = change(test::placement(Role::actor, Stage::train, {1, 1, 1}),
                              test::placement(Role::actor, Stage::train, {1, 1, 1}, 1));
  const Cut result = value_or_throw(cut(places_, changes, sets_, {.recreate_weights = true}));
  ASSERT_EQ(result.bundles.size(), 2U);
  EXPECT_EQ(result.bundles[0].lane, LaneKind::optimizer);
  EXPECT_EQ(result.bundles[1].after, 0);
  for (int32_t i = result.bundles[1].first_stream; i < result.bundles[1].last_stream; ++i) {
    EXPECT_EQ(result.streams[static_cast<size_t>(i)].wanted, 0);
    EXPECT_EQ(result.streams[static_cast<size_t>(i)].recreate, sets_.add({1}));
  }
}

}  // namespace
}  // namespace nereus::elastic
