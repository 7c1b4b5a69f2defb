#include "nereus/tasks/rewards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/tasks/scored.h"

namespace nereus::tasks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

/// Answers what the test says.
class ScriptedReward final : public Reward {
 public:
  ScriptedReward(std::string name, RewardValues values)
      : name_(std::move(name)), values_(std::move(values)) {}
  const std::string& name() const override { return name_; }
  Result<RewardValues> score(std::span<const RewardInput>) override { return values_; }
  std::vector<std::string> take_warnings() override { return {name_ + " warns"}; }

 private:
  std::string name_;
  RewardValues values_;
};

RewardList list_of(std::vector<std::pair<std::string, RewardValues>> scripts, std::vector<double> weights) {
  std::vector<std::unique_ptr<Reward>> rewards;
  for (auto& [name, values] : scripts) rewards.push_back(std::make_unique<ScriptedReward>(name, values));
  return value_or_throw(RewardList::make(std::move(rewards), std::move(weights)));
}

std::vector<RewardInput> two(const Scored& scored) {
  return scored.inputs();
}

TEST(RewardList, AsksEachAndSumsByWeight) {
  Scored scored;
  scored.add("a").add("b");
  auto list = list_of({{"x", {1.0, 0.0}}, {"y", {0.5, 1.0}}}, {1.0, 2.0});
  EXPECT_THAT(list.names(), ElementsAre("x", "y"));
  const auto scores = list.score(two(scored));
  ASSERT_TRUE(scores) << scores.error().message;
  EXPECT_THAT(scores->values[1], ElementsAre(0.5, 1.0));
  EXPECT_THAT(scores->warnings, ElementsAre("x warns", "y warns"));
  EXPECT_THAT(weighted_sum(*scores, list.weights()), ElementsAre(2.0, 2.0));
}

// One absent reward poisons the batch [ms-swift 8123].
TEST(RewardList, Fault36_AnAbsentRewardIsLeftOutAndNotZeroNorNaN) {
  Scored scored;
  scored.add("a").add("b");
  auto list = list_of({{"x", {std::nullopt, std::nullopt}}, {"y", {0.5, std::nullopt}}}, {1.0, 2.0});
  const auto scores = list.score(two(scored));
  ASSERT_TRUE(scores);
  EXPECT_THAT(weighted_sum(*scores, list.weights()), ElementsAre(Optional(1.0), std::nullopt));
}

// All but the first reward are silently ignored [trl 2839].
TEST(RewardList, Fault37_TheNumberOfRewardsIsCheckedAndTheFunctionNamed) {
  Scored scored;
  scored.add("a").add("b");
  EXPECT_EQ(error_of(list_of({{"x", {1.0, 1.0}}, {"y", {1.0}}}, {1, 1}).score(two(scored))),
            "reward \"y\" gave 1 values for 2 completions; expected one each");
  EXPECT_EQ(error_of(list_of({{"x", {1.0, 1.0, 1.0}}}, {1}).score(two(scored))),
            "reward \"x\" gave 3 values for 2 completions; expected one each");
}

TEST(RewardList, ValuesMustBeFinite) {
  Scored scored;
  scored.add("a").add("b");
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of(list_of({{"x", {1.0, nan}}}, {1}).score(two(scored))),
            "reward \"x\" gave nan for completion 1; expected a finite number");
  EXPECT_THAT(error_of(list_of({{"x", {-infinity, 0.0}}}, {1}).score(two(scored))),
              HasSubstr("gave -inf for completion 0"));
}

TEST(RewardList, BadLists) {
  const auto message = [](std::vector<RewardOptions> options) {
    return error_of(RewardList::make(options, "."));
  };
  const auto named = [](const char* kind, const char* name) {
    RewardOptions options;
    options.kind = kind;
    options.name = name;
    return options;
  };
  RewardOptions heavy;
  heavy.weight = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message({}), "expected at least one reward");
  EXPECT_EQ(message({named("number_match", ""), named("number_match", "")}),
            "two rewards have the name \"number_match\"; expected each to have its own");
  EXPECT_EQ(
      message({named("numbers", "x")}),
      "reward \"x\": unknown kind \"numbers\"; expected one of exact_match, number_match, regex, command");
  EXPECT_EQ(message({named("regex", "x")}), "reward \"x\": expected a pattern");
  EXPECT_EQ(message({named("command", "x")}),
            "reward \"x\": expected a command: a program and its arguments");
  EXPECT_EQ(message({heavy}), "reward \"number_match\": expected a finite weight, not inf");
}

TEST(MakeReward, EveryKind) {
  RewardOptions options;
  options.pattern = "x";
  options.command.command = {"cat"};
  for (const std::string_view kind : reward_kinds()) {
    options.kind = kind;
    const auto reward = make_reward(options, ".");
    ASSERT_TRUE(reward) << reward.error().message;
    EXPECT_EQ((*reward)->name(), kind);
  }
}

}  // namespace
}  // namespace nereus::tasks
