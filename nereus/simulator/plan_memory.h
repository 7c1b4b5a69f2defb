#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nereus/cluster/cluster.h"
#include "nereus/plan/plan.h"
#include "nereus/simulator/device_memory.h"
#include "nereus/simulator/world.h"

namespace nereus::simulator {

/// A device that was asked for more than it has.
struct OutOfMemory {
  int32_t device = 0;
  plan::ModelStage stage;
  double asked = 0, memory = 0;  ///< bytes
  std::string what() const;
};

/// The micro-batches of one placement in one step.
struct BatchSize {
  double largest = 0;   ///< tokens
  int64_t in_step = 1;  ///< one after another on a replica
};

/// What the devices held in one step.
struct MemoryReport {
  std::vector<double> peaks;        ///< bytes, by device
  std::vector<double> kv_tokens;    ///< that generation has room for, by replica
  std::optional<OutOfMemory> full;  ///< of the earliest stage
};

/// The memory of a plan's devices, stage by stage. Immutable; thread-safe.
class PlanMemory {
 public:
  PlanMemory(const WorldOptions& world, const cluster::Cluster& cluster, const plan::Job& job,
             const plan::Plan& plan);

  /// `batches`: by placement. `fragments`: share of what comes and goes that is lost between blocks, by
  /// device.
  MemoryReport report(const std::vector<BatchSize>& batches, const std::vector<double>& fragments) const;

 private:
  struct Rank {
    size_t placement = 0;
    int32_t pipeline = 0, replica = 0;
  };
  struct Device {
    double memory = 0, context = 0;
    std::vector<Rank> ranks;
  };
  using Memory = std::vector<std::vector<RankMemory>>;  ///< [placements][pipeline stages]

  double shared(const Device& device, const Memory& memory, size_t running) const;
  double pool(const Device& device, const Rank& rank, double token, double used, MemoryReport& report) const;
  void check(int32_t index, const Memory& memory, double fragments, MemoryReport& report) const;

  WorldOptions world_;
  const plan::Job& job_;
  const plan::Plan& plan_;
  std::vector<Device> devices_;
  std::vector<std::vector<bool>> shares_;  ///< [placements][placements]: one copy of the weights serves both
};

}  // namespace nereus::simulator
