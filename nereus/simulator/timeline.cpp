#include "nereus/simulator/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nereus/base/random.h"

namespace nereus::simulator {

Timeline::Timeline(const Availability& trace, int32_t machines, const WorldOptions& world, double end,
                   uint64_t seed)
    : stays_(static_cast<size_t>(machines)), notice_(world.notice_seconds) {
  follow(trace, world, end, seed);
  if (world.failures_per_machine_day > 0) fail_some(world, end, seed);
  for (const auto& stays : stays_)
    for (const auto& stay : stays) {
      changes_.push_back(stay.from);
      changes_.push_back(known(stay));
    }
  std::ranges::sort(changes_);
}

void Timeline::follow(const Availability& trace, const WorldOptions& world, double end, uint64_t seed) {
  RandomStream random(seed, 0x71e11e);
  const auto most = static_cast<int32_t>(stays_.size());
  std::vector<int32_t> there, away;
  for (int32_t m = most; m-- > 0;) away.push_back(m);
  std::vector<double> since(stays_.size(), 0);
  const auto leave = [&](size_t at, double time) {
    const int32_t machine = there[at];
    const auto index = static_cast<size_t>(machine);
    // One that is gone again before it has booted, or been of use, was never there.
    if (time - notice_ > since[index]) stays_[index].push_back({since[index], time, false});
    there.erase(there.begin() + static_cast<std::ptrdiff_t>(at));
    away.push_back(machine);
  };
  for (double time = 0; time < end; time = trace.next_change(time)) {
    const auto count = static_cast<size_t>(std::clamp(trace.count(time + 1e-6), 0, most));
    while (there.size() > count) leave(random.below(there.size()), time);
    while (there.size() < count) {
      there.push_back(away.back());
      away.pop_back();
      since[static_cast<size_t>(there.back())] = time + (time > 0 ? world.boot_seconds : 0);
    }
  }
  // Past the end everything stays.
  for (const int32_t machine : there)
    stays_[static_cast<size_t>(machine)].push_back(
        {since[static_cast<size_t>(machine)], std::numeric_limits<double>::infinity(), false});
}

void Timeline::fail_some(const WorldOptions& world, double end, uint64_t seed) {
  for (size_t machine = 0; machine < stays_.size(); ++machine) {
    RandomStream random(seed, 0xfa110000 + machine);
    double time = 0;
    while ((time -= std::log(1 - random.uniform()) * 86400 / world.failures_per_machine_day) < end) {
      auto& stays = stays_[machine];
      const auto hit = std::ranges::find_if(
          stays, [&](const Stay& stay) { return stay.from < time && time < stay.to - notice_; });
      if (hit == stays.end()) continue;
      const Stay rest{time + world.repair_seconds, hit->to, hit->failed};
      *hit = {hit->from, time, true};
      if (rest.to - notice_ > rest.from) stays.insert(hit + 1, rest);
    }
  }
}

std::vector<int32_t> Timeline::usable(double time) const {
  std::vector<int32_t> machines;
  for (size_t machine = 0; machine < stays_.size(); ++machine)
    if (std::ranges::any_of(stays_[machine],
                            [&](const Stay& stay) { return stay.from <= time && time < known(stay); }))
      machines.push_back(static_cast<int32_t>(machine));
  return machines;
}

double Timeline::next_change(double time) const {
  const auto next = std::ranges::upper_bound(changes_, time);
  return next == changes_.end() ? std::numeric_limits<double>::infinity() : *next;
}

std::optional<Loss> Timeline::first_loss(const std::vector<int32_t>& used, double from, double to) const {
  std::optional<Loss> loss;
  for (const int32_t machine : used)
    for (const auto& stay : stays_[static_cast<size_t>(machine)]) {
      if (stay.to <= from || stay.to > to || stay.from > from) continue;
      if (loss && stay.to > loss->time) continue;
      if (!loss || stay.to < loss->time) loss = Loss{stay.to, std::max(from, known(stay)), {}};
      loss->machines.push_back(machine);
    }
  return loss;
}

}  // namespace nereus::simulator
