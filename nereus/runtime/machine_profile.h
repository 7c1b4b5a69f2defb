#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "nereus/base/clock.h"
#include "nereus/base/result.h"
#include "nereus/runtime/network_probe.h"

namespace nereus::runtime {

struct ProfileOptions {
  std::string name;      ///< of the machine; empty: its host name
  int32_t devices = 1;   ///< slices of the processor that a job would use as devices
  double seconds = 0.5;  ///< of each measurement
  std::string network;   ///< "HOST:PORT" of a ProbeServer; empty: not measured
};

/// What this machine's processor reached. Rates are per second and of all threads together.
struct MachineProfile {
  std::string name, processor;
  int32_t devices = 1;
  int threads = 1;
  double memory = 0;      ///< bytes that the process may use
  double context = 0;     ///< bytes that this program holds before any tensor
  double f32_flops = 0;   ///< of dense products
  double bf16_flops = 0;  ///< 0 where the processor has no products of bf16
  double memory_bandwidth = 0;
  double copy_bandwidth = 0;  ///< bytes copied, each counted once
  std::optional<NetworkSpeed> network;
};

/// Takes about four times `seconds`. `progress` is told the part that begins and how many there are.
Result<MachineProfile> profile_machine(const ProfileOptions& options, const Clock& clock,
                                       const std::function<void(int64_t done, int64_t total)>& progress);

/// A cluster file of the machine, with comments that say what was measured.
std::string cluster_file(const MachineProfile& profile);

}  // namespace nereus::runtime
