#include <gmock/gmock.h>

#include "tests/control/small_run.h"

namespace nereus::control {
namespace {

using plan::Operation;
using test::costs;
using test::job;
using test::machines;
using test::run;
using test::World;
using testing::HasSubstr;

TEST(Controller, DeclinesATransitionThatCostsMoreThanItGains) {
  const auto small = machines({"a", "b"}), large = machines({"a", "b", "c", "d"});
  for (const double cost : {1.0, 1e7}) {
    World world;
    Controller controller(job(), {}, costs(cost));
    controller.begin(small, 0, 300);
    run(controller, world, small, 10, job());
    const plan::Plan before = *controller.plan();
    const Decision decision = controller.observe(large, world.step(small, job(), before, 290));
    EXPECT_EQ(decision.trigger, Trigger::devices);
    EXPECT_FALSE(decision.forced);
    if (cost < 10) {
      EXPECT_EQ(decision.action, Action::change) << decision.reason;
      EXPECT_LT(decision.predicted, 0.8 * decision.stay);
    } else {
      EXPECT_EQ(decision.action, Action::stay);
      EXPECT_THAT(decision.reason, HasSubstr("do not pay"));
      EXPECT_EQ(*controller.plan(), before);
    }
  }
}

TEST(Controller, DeclinesWhatItWasToldIsImpossible) {
  const auto small = machines({"a", "b"}), large = machines({"a", "b", "c", "d"});
  World world;
  bool refuse = false;
  Controller controller(job(), {}, costs([&](const plan::Plan&) -> Result<double> {
                          if (refuse) return fail("no memory for staging on device 3");
                          return 1.0;
                        }));
  controller.begin(small, 0, 300);
  run(controller, world, small, 3, job());
  refuse = true;
  const Decision decision = controller.observe(large, world.step(small, job(), *controller.plan(), 290));
  EXPECT_EQ(decision.action, Action::stay);
  EXPECT_THAT(decision.reason, HasSubstr("no memory for staging on device 3"));
}

std::vector<std::string> regimes_of(const plan::Plan& plan) {
  std::vector<std::string> regimes;
  for (const plan::Placement& placement : plan.placements) regimes.push_back(plan::regime_of(placement));
  return regimes;
}

TEST(Controller, TheRunningLayoutsAreCandidatesOnOtherDevices) {
  std::vector<std::vector<std::string>> priced;
  const TransitionCost record = costs([&](const plan::Plan& to) -> Result<double> {
    priced.push_back(regimes_of(to));
    return 1.0;
  });
  World world;
  Controller controller(job(), {}, record);
  const auto before = machines({"a", "b", "c"}), after = machines({"a", "b"});
  controller.begin(before, 0, 300);
  run(controller, world, before, 30, job());
  const auto running = regimes_of(*controller.plan());
  priced.clear();
  const Decision decision = controller.devices_changed(after, 1e4);
  EXPECT_EQ(decision.action, Action::change);
  EXPECT_THAT(priced, testing::Contains(running));
}

TEST(Controller, TransitionsAreOnlyPricedWhereTheyCouldBeTaken) {
  int priced = 0;
  const TransitionCost count = costs([&](const plan::Plan&) -> Result<double> { return ++priced, 1.0; });
  World world;
  // Everything takes longer than the model says: there is a search, and nothing better to be found.
  for (const Operation operation : {Operation::decode, Operation::infer, Operation::train})
    world.hidden.factors[{operation, ""}] = 1.3;
  Controller controller(job(), {}, count);
  const auto cluster = machines({"a", "b"});
  controller.begin(cluster, 0, 300);
  const int first = priced;
  run(controller, world, cluster, 30, job());
  EXPECT_GT(controller.searches()[static_cast<size_t>(Trigger::drift)], 0);
  EXPECT_LE(first, 8);
  EXPECT_EQ(priced, first);
}

TEST(Controller, ATransitionIsPricedOnceForPlansThatHoldTheSame) {
  std::vector<plan::Plan> priced;
  // So dear that every candidate may still be the cheapest once one is priced.
  const TransitionCost record = costs([&](const plan::Plan& to) -> Result<double> {
    priced.push_back(plan::state_of(to));
    return 1e6;
  });
  World world;
  Controller controller(job(), {}, record);
  const auto before = machines({"a", "b", "c"}), after = machines({"a", "b"});
  controller.begin(before, 0, 300);
  run(controller, world, before, 10, job());
  priced.clear();
  EXPECT_EQ(controller.devices_changed(after, 1e4).action, Action::change);
  EXPECT_GT(priced.size(), 1u);
  EXPECT_LT(priced.size(), static_cast<size_t>(ControllerOptions{}.search.top));
  for (size_t i = 0; i < priced.size(); ++i)
    EXPECT_EQ(std::count(priced.begin(), priced.end(), priced[i]), 1) << "candidate " << i;
}

// A price that stops at its limit decides as the exact one does.
TEST(Controller, APriceMayStopAtItsLimit) {
  std::vector<Decision> decisions;
  for (const bool stops : {false, true}) {
    int stopped = 0;
    // Any price, but not the same for all plans.
    const auto exact = [](const plan::Plan& to) { return 1e4 + 10.0 * to.placements[0].layout.tp; };
    const TransitionCost cost = [&](const Origin&) {
      return [&](const plan::Plan& to, double limit) -> Result<double> {
        if (!stops || exact(to) < limit) return exact(to);
        return ++stopped, limit;
      };
    };
    World world;
    Controller controller(job(), {}, cost);
    const auto before = machines({"a", "b", "c"}), after = machines({"a", "b"});
    controller.begin(before, 0, 300);
    run(controller, world, before, 10, job());
    decisions.push_back(controller.devices_changed(after, 1e4));
    EXPECT_EQ(stopped > 0, stops);
  }
  EXPECT_EQ(decisions[0].action, Action::change);
  EXPECT_EQ(decisions[0].transition, decisions[1].transition);
  EXPECT_EQ(to_json(decisions[0]).dump(), to_json(decisions[1]).dump());
}

}  // namespace
}  // namespace nereus::control
