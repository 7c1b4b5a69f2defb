#include "nereus/train/packing.h"

#include <gtest/gtest.h>

namespace nereus::train {
namespace {

rollout::Group group(rollout::Tokens prompt, std::vector<rollout::Tokens> completions) {
  rollout::Group g;
  g.prompt = std::move(prompt);
  for (auto& tokens : completions) {
    auto& c = g.completions.emplace_back();
    c.logprobs.resize(tokens.size(), -0.5F);
    c.tokens = std::move(tokens);
  }
  return g;
}

template <class T>
std::vector<T> list(const at::Tensor& t) {
  return {t.const_data_ptr<T>(), t.const_data_ptr<T>() + t.numel()};
}

TEST(Pack, PromptOnceAndNoPadding) {
  const auto g = group({10, 11, 12}, {{20, 21}, {30}, {40, 41, 42}});
  const auto batches = pack({&g}, {{0, 0}, {0, 1}, {0, 2}}, {});
  ASSERT_EQ(batches.size(), 1U);
  const PackedBatch& b = batches[0];
  EXPECT_EQ(list<int32_t>(b.ids), (std::vector<int32_t>{10, 11, 12, 20, 40, 41}));
  EXPECT_EQ(list<int32_t>(b.positions), (std::vector<int32_t>{0, 1, 2, 3, 3, 4}));
  EXPECT_EQ(list<int32_t>(b.targets), (std::vector<int32_t>{20, 21, 30, 40, 41, 42}));
  EXPECT_EQ(list<int64_t>(b.predicting), (std::vector<int64_t>{2, 3, 2, 2, 4, 5}));
  EXPECT_EQ(list<int64_t>(b.sequence), (std::vector<int64_t>{0, 0, 1, 2, 2, 2}));
  ASSERT_EQ(b.plan->runs.size(), 3U);  // the prompt and two completions; one token needs no row
  EXPECT_EQ(b.plan->spans[1].start, 0);
  EXPECT_EQ(b.plan->spans[1].length, 3);
}

TEST(Pack, CutsIntoBatchesAndRepeatsThePrompt) {
  const auto g = group({1, 2, 3, 4}, {{5, 6, 7}, {5, 6, 7}, {5, 6, 7}});
  const auto batches = pack({&g}, {{0, 0}, {0, 1}, {0, 2}}, {.max_rows = 8});
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].rows(), 4 + 2 + 2);
  EXPECT_EQ(batches[1].rows(), 4 + 2);
  EXPECT_EQ(batches[1].completions[0].completion, 2);
}

TEST(Pack, ACompletionLongerThanTheBudgetStandsAlone) {
  const auto g = group({1, 2}, {rollout::Tokens(50, 3), {4}, rollout::Tokens(50, 3)});
  const auto batches = pack({&g}, {{0, 0}, {0, 1}, {0, 2}}, {.max_rows = 10});
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[0].rows(), 51);
}

TEST(Pack, GroupsKeepTheirOwnPrompts) {
  // Fault 39: micro-batches mix groups [tunix 820].
  const auto a = group({1, 2}, {{5, 6}, {7, 8}}), b = group({3, 4}, {{5, 6}});
  const auto batches = pack({&a, &b}, {{0, 0}, {0, 1}, {1, 0}}, {});
  ASSERT_EQ(batches.size(), 1U);
  const auto& plan = *batches[0].plan;
  for (const auto& run : plan.runs) {
    if (run.span_count == 1) continue;
    const auto& prompt = plan.spans[static_cast<size_t>(run.first_span)];
    const bool of_b = run.first_row >= 4;
    EXPECT_EQ(prompt.start, of_b ? 4 : 0);
  }
}

TEST(Pack, NothingGivesNothing) {
  EXPECT_TRUE(pack({}, {}, {}).empty());
}

}  // namespace
}  // namespace nereus::train
