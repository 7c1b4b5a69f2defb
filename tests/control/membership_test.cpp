#include "nereus/control/membership.h"

#include <gmock/gmock.h>

namespace nereus::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

cluster::Cluster of(std::vector<std::pair<std::string, int32_t>> machines) {
  cluster::Cluster result;
  for (auto& [name, devices] : machines)
    result.machines.push_back({.name = name, .kind = {}, .devices = devices});
  return result;
}

plan::Plan on(std::vector<int32_t> devices) {
  const auto count = static_cast<int32_t>(devices.size());
  plan::Placement placement{.what = {}, .devices = std::move(devices), .layout = {.dp = count}};
  return {{placement}};
}

TEST(Membership, DevicesKeepTheirMachineWhenAnotherGoes) {
  const auto before = of({{"a", 2}, {"b", 2}, {"c", 2}}), now = of({{"a", 2}, {"c", 2}});
  const auto moved = carry_over(on({4, 5, 0}), before, now);
  ASSERT_TRUE(moved);
  EXPECT_THAT(moved->placements[0].devices, ElementsAre(2, 3, 0));
}

TEST(Membership, DevicesKeepTheirMachineWhenOneComesBeforeThem) {
  const auto moved = carry_over(on({0, 1}), of({{"b", 2}}), of({{"a", 4}, {"b", 2}}));
  ASSERT_TRUE(moved);
  EXPECT_THAT(moved->placements[0].devices, ElementsAre(4, 5));
}

TEST(Membership, ALostDeviceIsNamed) {
  const auto lost = carry_over(on({1, 2}), of({{"a", 2}, {"b", 2}}), of({{"a", 2}}));
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr("device 2 of machine b is gone"));
  EXPECT_FALSE(carry_over(on({1}), of({{"a", 2}}), of({{"a", 1}})));
  EXPECT_FALSE(carry_over(on({9}), of({{"a", 2}}), of({{"a", 2}})));
}

TEST(Membership, TellsWhetherDevicesAreTheSame) {
  EXPECT_TRUE(same_devices(of({{"a", 2}}), of({{"a", 2}})));
  EXPECT_FALSE(same_devices(of({{"a", 2}}), of({{"b", 2}})));
  EXPECT_FALSE(same_devices(of({{"a", 2}}), of({{"a", 1}})));
  EXPECT_FALSE(same_devices(of({{"a", 2}}), of({{"a", 2}, {"b", 1}})));
}

}  // namespace
}  // namespace nereus::control
