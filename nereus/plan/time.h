#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nereus/cluster/cluster.h"
#include "nereus/plan/link.h"
#include "nereus/plan/plan.h"

namespace nereus::plan {

/// Kinds of work whose speed is calibrated apart.
enum class Operation : uint8_t {
  prefill,
  decode,
  infer,
  train,
  optimizer,
  tensor_link,
  data_link,
  pipeline_link,
  weight_sync
};
inline constexpr size_t kOperations = 9;
std::string_view name_of(Operation operation);

/// Constants of the machine at hand, which a running job corrects. Factors multiply the analytic time; 1 is
/// the vendor's figure.
struct Calibration {
  double prefill_efficiency = 0.6, train_efficiency = 0.45, infer_efficiency = 0.55;  ///< of peak FLOP/s
  double memory_efficiency = 0.75;  ///< of memory bandwidth, decoding
  double decode_overhead = 2e-4;    ///< seconds a decode step, fixed
  double sequence_overhead = 5e-6;  ///< seconds a decode step for each sequence: sampling and scheduling it
  /// Seconds that a layer's pass loses whatever its size: launches, and the last wave of each product, which
  /// fills half of the device on average.
  double layer_overhead = 1e-4;
  double overlap_slowdown = 1.3;  ///< of compute and communication while both run
  /// Measured over predicted, by operation and regime; where that is absent a role alone ("actor") speaks for
  /// all its regimes, the empty regime for all roles, and else it is 1. Those of decode, infer and train
  /// scale their whole stage, the others their part of it.
  std::map<std::pair<Operation, std::string>, double> factors;
  /// Seconds a stage (decode, infer, train) takes whatever its tokens, likewise; absent: 0.
  std::map<std::pair<Operation, std::string>, double> offsets;

  double factor(Operation operation, const std::string& regime) const;
  double offset(Operation operation, const std::string& regime) const;
};

/// What one regime has shown, found once for those who price many placements of it.
struct RegimeFactors {
  RegimeFactors(const Calibration& calibration, const std::string& regime);

  double factor(Operation operation) const { return factors[static_cast<size_t>(operation)]; }
  double offset(Operation operation) const { return offsets[static_cast<size_t>(operation)]; }

  std::array<double, kOperations> factors{}, offsets{};
};

/// What a stage waits for most. `tail`: the longest response alone takes most of the time, so that more
/// devices do not help.
enum class Bound : uint8_t { compute, memory_bandwidth, link, tail };
std::string_view name_of(Bound bound);

/// Seconds of one model-stage in one step, by what they are spent on.
struct StageTime {
  ModelStage what;
  double compute = 0;        ///< products, attention, reading of weights and KV
  double communication = 0;  ///< what no compute hides
  double bubble = 0;         ///< of the pipeline
  double optimizer = 0;
  double overhead = 0;  ///< fixed costs
  double offload = 0;   ///< fetching and storing its state, where it leaves its devices when idle
  Bound bound = Bound::compute;
  double total() const { return compute + communication + bubble + optimizer + overhead + offload; }
};

/// One step: stages in the order of their dependencies; those on disjoint devices run at the same time.
struct StepTime {
  std::vector<StageTime> stages;
  double reward = 0;       ///< outside the models, beside the inference
  double weight_sync = 0;  ///< of trained models to their other stages, after training
  double offload = 0;      ///< sum over the stages, whose times contain it
  double total = 0;        ///< the longest path, seconds

  const StageTime* find(ModelStage what) const;
};

/// How a regime of a model-stage is named, so that calibration of one layout does not speak for another:
/// "actor/tp4/pp1".
std::string regime_of(const Placement& placement);

/// REQUIRES: the plan fits (check_memory).
StepTime predict(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
                 const Calibration& calibration);
/// The same with the links of every placement and the weight sync known; nothing where the plan does not fit.
std::optional<StepTime> predict_if_fits(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
                                        const std::vector<Links>& links, double weight_sync,
                                        const Calibration& calibration);
/// The weight syncs of a step, as places in `stages`: of one that trains, then of another stage of its model.
std::vector<std::pair<size_t, size_t>> weight_syncs(const std::vector<ModelStage>& stages);
/// Seconds of all weight syncs of a step, one after the other.
double weight_sync_time(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
                        const Calibration& calibration);
/// One model-stage alone. `kv_pool_bytes`: of generation, on its fullest device; others ignore it.
StageTime stage_time(const cluster::Cluster& cluster, const Job& job, const Placement& placement,
                     double kv_pool_bytes, const Calibration& calibration);
/// The same over links that are known already.
StageTime stage_time(const Job& job, const Placement& placement, const Links& links, double kv_pool_bytes,
                     const Calibration& calibration);
/// Seconds in which what `from` has trained (all weights, or the adapter) reaches the devices of `to`.
double sync_time(const cluster::Cluster& cluster, const Job& job, const Placement& from, const Placement& to,
                 const Calibration& calibration);

/// Seconds of one decode step of a replica with `batch` sequences of mean context `context` on tp devices of
/// `kind` that `link` joins.
double decode_step(const cluster::DeviceKind& kind, const Link& link, const Model& model, int32_t tp,
                   double batch, double context, double weight_bytes, const Calibration& calibration);

}  // namespace nereus::plan
