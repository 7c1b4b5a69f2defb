#pragma once

#include <cstdint>

#include "nereus/simulator/outcome.h"
#include "nereus/simulator/policy.h"
#include "nereus/simulator/samples.h"
#include "nereus/simulator/scenario.h"

namespace nereus::simulator {

/// Runs one policy through a scenario. What is drawn at random depends on the seed and on the step or the
/// device alone, so that every policy meets the same world. Deterministic for deterministic policies.
/// `samples` are of the scenario.
Outcome simulate(const Scenario& scenario, Samples& samples, Policy& policy, uint64_t seed);

/// The devices that any policy finds under the seed, up to `end` seconds.
std::vector<DevicePoint> devices_over_time(const Scenario& scenario, uint64_t seed, double end);

/// Slowness of the scenario's devices, 1 at no spread. By device of scenario.universe().
std::vector<double> device_slowness(const Scenario& scenario, uint64_t seed);

}  // namespace nereus::simulator
