#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/cluster/cluster.h"
#include "nereus/plan/model_size.h"
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
  Ledger& operator+=(const Ledger& other);
};

/// What is held on one device by one model-stage: while its stage runs, and between its turns.
struct Footprint {
  Ledger running, idle;
};

/// Of the rank with pipeline index `pipeline` (ranks of one pipeline index hold the same). The optimizer's
/// state is counted before the first step brings it to life. Formulas: docs/planner.md.
Footprint footprint(const Job& job, const Placement& placement, int32_t pipeline);
/// The same in two parts, with the rank's size known, for those who ask about many placements of one layout:
/// what does not depend on micro-batches and recomputation, and, while the stage runs, what depends on
/// nothing else.
Footprint state_footprint(const Job& job, const Placement& placement, const RankSize& size);
struct PassBytes {
  double activations = 0, logits = 0;
};
PassBytes pass_bytes(const Job& job, const Placement& placement, int32_t pipeline, const RankSize& size);
/// Both together.
Footprint footprint(const Job& job, const Placement& placement, int32_t pipeline, const RankSize& size);

/// Whether the two use one copy of the weights where both are present: the same model on the same devices in
/// the same layout, and neither shards its weights over dp. Then nothing is sent between them either.
bool shares_weights(const Placement& a, const Placement& b);

/// One device while one of its stages runs: what it holds by component, the idle state of the others included
/// (weights that are shared are counted once).
struct DevicePeak {
  int32_t device = 0;
  ModelStage stage;
  Ledger ledger;       ///< all that is there, the context of the device included
  double kv_pool = 0;  ///< bytes that generation has for KV after all else, where it runs here
  double limit = 0;    ///< bytes that may be filled: memory times job.utilization

  double free() const { return limit - ledger.total(); }
};

/// Every stage of every device that has one, by device, then in the order of the plan. `kv_pool` of a
/// generation stage is what is left up to the limit, and no more than all its sequences can fill.
std::vector<DevicePeak> moments(const cluster::Cluster& cluster, const Job& job, const Plan& plan);
/// The same, of one device of each kind that the plan makes: others are like one of them in all but their
/// number.
std::vector<DevicePeak> distinct_moments(const cluster::Cluster& cluster, const Job& job, const Plan& plan);
/// The fullest moment of every device that the plan uses, by device.
std::vector<DevicePeak> peaks(const cluster::Cluster& cluster, const Job& job, const Plan& plan);

/// Whether the plan fits, with at least one sequence of the longest kind in every KV pool: the error names
/// the device, the component and the shortfall, and what would help. Also whether host memory holds what
/// leaves.
Status check_memory(const cluster::Cluster& cluster, const Job& job, const Plan& plan);

/// The same without words.
bool fits(const cluster::Cluster& cluster, const Job& job, const Plan& plan);
/// The same, with its distinct_moments known.
bool fits(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
          const std::vector<DevicePeak>& moments);

/// The longest response, in tokens and up to the actor's context, with which the plan still fits everywhere;
/// 0: none.
int64_t longest_response(const cluster::Cluster& cluster, const Job& job, const Plan& plan);

}  // namespace nereus::plan
