#include "nereus/config/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::config {
namespace {

using ::testing::ElementsAre;

TEST(TakeOverrides, AreTakenOutOfTheArguments) {
  std::vector<std::string> arguments = {"train",    "--run.steps",      "5",      "job.toml",
                                        "--resume", "--grpo.beta=-0.1", "--x=a.b"};
  const auto overrides = take_overrides(arguments);
  ASSERT_TRUE(overrides);
  EXPECT_THAT(arguments, ElementsAre("train", "job.toml", "--resume", "--x=a.b"));
  EXPECT_THAT(*overrides, ElementsAre(std::pair{"run.steps", "5"}, std::pair{"grpo.beta", "-0.1"}));
}

TEST(TakeOverrides, AKeyNeedsAValue) {
  std::vector<std::string> arguments = {"train", "--run.steps"};
  EXPECT_EQ(take_overrides(arguments).error().message, "--run.steps: expected a value after it");
  arguments = {"--run.steps", "--resume"};
  EXPECT_FALSE(take_overrides(arguments));
}

}  // namespace
}  // namespace nereus::config
