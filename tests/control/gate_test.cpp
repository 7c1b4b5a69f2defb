#include "nereus/control/gate.h"

#include <gmock/gmock.h>

namespace nereus::control {
namespace {

using testing::HasSubstr;

// A change that passes, from which each case below takes one thing away.
Proposal good() {
  return {.stay = 100,
          .change = 80,
          .deviation = 0.05,
          .transition = 30,
          .steps_left = 500,
          .steps_to_change = 200,
          .steps_since_change = 100};
}

TEST(Gate, LetsAGoodChangePass) {
  const Verdict verdict = judge(good(), {});
  EXPECT_TRUE(verdict.change) << verdict.reason;
  EXPECT_EQ(verdict.horizon, 200);
  // 20 s over 200 steps, less the transition and a fifth of a step of warm-up.
  EXPECT_DOUBLE_EQ(verdict.saving, 20 * 200 - 30 - 0.2 * 80);
}

TEST(Gate, NamesWhatSpeaksAgainstAChange) {
  struct Case {
    const char* name;
    void (*spoil)(Proposal&);
    const char* reason;
  };
  for (const Case& c : {
           Case{"cool-down", [](Proposal& p) { p.steps_since_change = 2; }, "cool-down"},
           Case{"slower", [](Proposal& p) { p.change = 110; }, "no other plan is faster"},
           Case{"equal", [](Proposal& p) { p.change = 100; }, "no other plan is faster"},
           Case{"small", [](Proposal& p) { p.change = 97, p.deviation = 0; }, "less than the 4.0 %"},
           Case{"doubtful", [](Proposal& p) { p.deviation = 0.25; }, "less than the 4.0 %"},
           Case{"missed before", [](Proposal& p) { p.widening = 0.2; }, "less than the 24.0 %"},
           Case{"dear", [](Proposal& p) { p.transition = 4000; }, "do not pay"},
           Case{"at the end of the run", [](Proposal& p) { p.steps_left = 2; }, "do not pay"},
           Case{"devices change soon", [](Proposal& p) { p.steps_to_change = 2; }, "do not pay"},
       }) {
    Proposal proposal = good();
    c.spoil(proposal);
    const Verdict verdict = judge(proposal, {});
    EXPECT_FALSE(verdict.change) << c.name;
    EXPECT_THAT(verdict.reason, HasSubstr(c.reason)) << c.name;
    EXPECT_THAT(verdict.reason, testing::StartsWith("stay")) << c.name;
  }
}

}  // namespace
}  // namespace nereus::control
