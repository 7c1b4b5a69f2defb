#pragma once

#include <array>
#include <string_view>

#include "nereus/base/result.h"
#include "nereus/cluster/cluster.h"
#include "nereus/plan/plan.h"

namespace nereus::plan {

enum class Component : uint8_t {
  weights,
  gradients,
  masters,
  moments,
  activations,
  logits,
  kv_pool,
  workspace,
  context,
  staging
};
inline constexpr size_t kComponents = 10;
std::string_view name_of(Component component);

/// Bytes by component.
struct Ledger {
  std::array<double, kComponents> bytes{};

  double& operator[](Component component) { return bytes[static_cast<size_t>(component)]; }
  double operator[](Component component) const { return bytes[static_cast<size_t>(component)]; }
  double total() const;
};

/// What is held on one device by one model-stage: while its stage runs, and between its turns.
struct Footprint {
  Ledger running, idle;
};

/// Of the rank with pipeline index `pipeline` (ranks of one pipeline index hold the same). The optimizer's
/// state is counted before the first step brings it to life. Formulas: docs/planner.md.
Footprint footprint(const Job& job, const Placement& placement, int32_t pipeline);

/// The fullest moment of one device: the stage that runs then, what it holds by component, and the others'
/// idle state.
struct DevicePeak {
  int32_t device = 0;
  ModelStage stage;
  Ledger ledger;       ///< running model-stage and idle ones together
  double kv_pool = 0;  ///< bytes that generation has for KV after all else, where it runs here
};

/// Of every device of the cluster. `kv_pool` of a generation stage is what is left up to `utilization` of the
/// memory.
std::vector<DevicePeak> peaks(const cluster::Cluster& cluster, const Job& job, const Plan& plan);

/// Whether the plan fits: the error names the device, the component and the shortfall, and what would help.
Status check_memory(const cluster::Cluster& cluster, const Job& job, const Plan& plan);

/// The longest response, in tokens, with which the plan still fits everywhere; 0: none.
int64_t longest_response(const cluster::Cluster& cluster, const Job& job, const Plan& plan);

}  // namespace nereus::plan
