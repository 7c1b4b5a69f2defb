#include "nereus/plan/schedule.h"

#include <algorithm>
#include <array>
#include <bit>

namespace nereus::plan {

double course(const std::vector<Turn>& turns, double reward_seconds, bool asynchronous) {
  std::array<double, 32> ends;  // of the turns so far
  double generated = 0, inferred = 0, last = reward_seconds;
  for (size_t i = 0; i < turns.size(); ++i) {
    const Turn& turn = turns[i];
    double start = turn.what.stage == Stage::infer   ? generated
                   : turn.what.stage == Stage::train ? inferred
                                                     : 0;
    for (uint32_t left = turn.conflicts; left != 0; left &= left - 1)
      start = std::max(start, ends[static_cast<size_t>(std::countr_zero(left))]);
    ends[i] = start + turn.seconds;
    last = std::max(last, ends[i]);
    if (turn.what.stage == Stage::generate) {
      generated = asynchronous ? 0 : ends[i];
      inferred = generated + reward_seconds;
    } else if (turn.what.stage == Stage::infer) {
      inferred = std::max(inferred, ends[i]);
    }
  }
  return last;
}

std::vector<uint32_t> conflicts_of(const Plan& plan) {
  int32_t devices = 0;
  for (const Placement& placement : plan.placements) {
    for (const int32_t device : placement.devices) devices = std::max(devices, device + 1);
  }
  std::vector<uint32_t> users(static_cast<size_t>(devices), 0), result;
  for (size_t i = 0; i < plan.placements.size(); ++i) {
    uint32_t conflicts = 0;
    for (const int32_t device : plan.placements[i].devices) {
      uint32_t& here = users[static_cast<size_t>(device)];
      conflicts |= here;
      here |= 1U << i;
    }
    result.push_back(conflicts);
  }
  return result;
}

}  // namespace nereus::plan
