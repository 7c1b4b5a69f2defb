#include "nereus/control/decision.h"

#include <gmock/gmock.h>

#include <set>

namespace nereus::control {
namespace {

TEST(Decision, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kTriggers; ++i) names.insert(name_of(static_cast<Trigger>(i)));
  EXPECT_EQ(names.size(), kTriggers);
  EXPECT_EQ(name_of(Trigger::cool_down), "cool_down");
  EXPECT_EQ(name_of(Action::wait), "wait");
}

TEST(Decision, IsOneLineOfJson) {
  const Decision decision{.step = 7,
                          .action = Action::change,
                          .trigger = Trigger::lost,
                          .forced = true,
                          .stay = 0,
                          .predicted = 61.5,
                          .transition = 12,
                          .reason = "change: a device of the plan is gone",
                          .bound = "actor train bounds the step",
                          .observed = 62,
                          .observed_transition = 13};
  EXPECT_EQ(to_json(decision).dump(),
            R"({"step":7,"action":"change","trigger":"lost","forced":true,"stay_s":0.0,"predicted_s":61.5,)"
            R"("transition_s":12.0,"observed_s":62.0,"observed_transition_s":13.0,)"
            R"("reason":"change: a device of the plan is gone","bound":"actor train bounds the step"})");
}

}  // namespace
}  // namespace nereus::control
