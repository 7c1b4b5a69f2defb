#include "nereus/control/balance.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nereus/base/random.h"
#include "nereus/plan/known_models.h"

namespace nereus::control {
namespace {

std::vector<double> loads(const std::vector<std::vector<size_t>>& parts, const std::vector<int32_t>& tokens,
                          const SequenceCost& cost) {
  std::vector<double> sums;
  for (const auto& part : parts) {
    double sum = 0;
    for (size_t i : part) sum += cost.of(tokens[i]);
    sums.push_back(sum);
  }
  return sums;
}

// Ranks differ by half an hour and time out: balanced by predicted length [verl 2629].
TEST(Balance, Fault54_RanksGetEqualWorkFromUnequalLengths) {
  RandomStream random(1, 1);
  std::vector<int32_t> tokens;
  for (int i = 0; i < 1024; ++i)
    tokens.push_back(static_cast<int32_t>(std::min(8192.0, std::exp(6 + random.normal()))));
  for (const SequenceCost& cost : {SequenceCost{}, SequenceCost{.linear = 1, .quadratic = 1e-4}}) {
    const auto parts = value_or_throw(balance(tokens, 16, cost));
    const auto sums = loads(parts, tokens, cost);
    const double most = *std::max_element(sums.begin(), sums.end());
    EXPECT_LT(most / *std::min_element(sums.begin(), sums.end()), 1.02);

    // In the order in which they came the slowest rank has far more than the fastest.
    std::vector<std::vector<size_t>> in_order(16);
    for (size_t i = 0; i < tokens.size(); ++i) in_order[i / 64].push_back(i);
    const auto plain = loads(in_order, tokens, cost);
    EXPECT_GT(*std::max_element(plain.begin(), plain.end()), 1.2 * most);
  }
}

TEST(SequenceCost, IsThatOfAForwardPass) {
  plan::Model model{.role = plan::Role::actor, .config = *plan::known_model("llama-3-8b")};
  const SequenceCost cost = sequence_cost(model);
  // 2 N, and 2 a d L.
  EXPECT_NEAR(cost.linear, 2 * 7.5048e9, 1e6);
  EXPECT_EQ(cost.quadratic, 2.0 * 4096 * 32);
}

TEST(Balance, EverySequenceGoesToOneRank) {
  const std::vector<int32_t> tokens = {5, 1, 9, 9, 2, 7, 3};
  const auto parts = value_or_throw(balance(tokens, 3));
  std::vector<size_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  std::vector<size_t> expected(tokens.size());
  std::iota(expected.begin(), expected.end(), size_t{0});
  EXPECT_EQ(all, expected);
}

TEST(Balance, FewerSequencesThanRanksLeaveSomeEmpty) {
  EXPECT_EQ(value_or_throw(balance({10}, 4)).size(), 4u);
  EXPECT_EQ(value_or_throw(balance({}, 2)).size(), 2u);
}

TEST(Balance, RefusesNoRanks) {
  EXPECT_FALSE(balance({1}, 0));
}

}  // namespace
}  // namespace nereus::control
