#include "nereus/simulator/fixed_plan.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using test::plan_of;
using test::small_job;
using Action = Answer::Action;

cluster::Cluster machines(const std::vector<int32_t>& numbers) {
  return some_machines(test::small_cluster(6, 4), numbers);
}

FixedPlan all_devices() {
  return {"fixed", [](const cluster::Cluster& cluster) -> Result<plan::Plan> {
            if (cluster.devices() == 0) return fail("no devices");
            return plan_of(small_job(), {cluster.devices(), 1, 1});
          }};
}

TEST(FixedPlan, WaitsForAsManyAsAtTheStart) {
  auto policy = all_devices();
  const auto four = machines({0, 1, 2, 3}), three = machines({0, 1, 3}), other = machines({0, 1, 3, 5}),
             more = machines({0, 1, 3, 4, 5});
  EXPECT_EQ(policy.begin({machines({}), 0, 0, 9}).action, Action::wait);
  const auto first = policy.devices_changed({four, 0, 0, 9});
  EXPECT_EQ(first.action, Action::change);
  EXPECT_EQ(first.plan, plan_of(small_job(), {16, 1, 1}));
  EXPECT_EQ(policy.after_step({four, 1, 1, 8}, {}).action, Action::keep);
  EXPECT_EQ(policy.devices_changed({three, 2, 1, 8}).action, Action::wait);
  // Another machine takes the place of the lost one: the same plan on the first sixteen devices.
  const auto again = policy.devices_changed({other, 3, 1, 8});
  EXPECT_EQ(again.action, Action::change);
  EXPECT_EQ(again.plan, first.plan);
  EXPECT_EQ(policy.after_step({more, 4, 2, 7}, {}).action, Action::keep);  // more do not matter
  EXPECT_TRUE(policy.restarts());
}

TEST(FixedPlan, TakesLessMemoryAfterItRanOut) {
  const plan::ModelStage train{plan::Role::actor, plan::Stage::train};
  std::vector<std::pair<int32_t, bool>> seen;
  std::optional<plan::Plan> plan = plan_of(small_job(), {1, 1, 1}, 4);
  while ((plan = with_less_memory(*plan, train)))
    seen.emplace_back(plan->find(train)->micro_batch, plan->find(train)->recompute);
  EXPECT_EQ(seen, (std::vector<std::pair<int32_t, bool>>{{2, false}, {1, false}, {1, true}}));
}

}  // namespace
}  // namespace nereus::simulator
