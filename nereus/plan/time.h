#pragma once

#include <map>
#include <string>

#include "nereus/cluster/cluster.h"
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

/// Constants of the machine at hand, which a running job corrects. Factors multiply the analytic time; 1 is
/// the vendor's figure.
struct Calibration {
  double prefill_efficiency = 0.6, train_efficiency = 0.45, infer_efficiency = 0.55;  ///< of peak FLOP/s
  double memory_efficiency = 0.75;  ///< of memory bandwidth, decoding
  double decode_overhead = 2e-4;    ///< seconds a decode step, fixed
  double overlap_slowdown = 1.3;    ///< of compute and communication while both run
  /// Measured over predicted, by operation and regime (an empty regime is that of all); absent: 1.
  std::map<std::pair<Operation, std::string>, double> factors;

  double factor(Operation operation, const std::string& regime) const;
};

enum class Bound : uint8_t { compute, memory_bandwidth, link, tail };

/// Seconds of one model-stage in one step, by what they are spent on.
struct StageTime {
  ModelStage what;
  double compute = 0, communication = 0, bubble = 0, optimizer = 0, overhead = 0;
  Bound bound = Bound::compute;
  double total() const { return compute + communication + bubble + optimizer + overhead; }
};

/// One step: stages in the order of their dependencies; those on disjoint devices run at the same time.
struct StepTime {
  std::vector<StageTime> stages;
  double reward = 0, weight_sync = 0, offload = 0;
  double total = 0;  ///< the longest path, seconds
};

/// How a regime of a model-stage is named, so that calibration of one layout does not speak for another:
/// "actor/tp4/pp1".
std::string regime_of(const Placement& placement);

/// REQUIRES: the plan fits (check_memory).
StepTime predict(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
                 const Calibration& calibration);
/// One model-stage alone.
StageTime stage_time(const cluster::Cluster& cluster, const Job& job, const Placement& placement,
                     double kv_pool_bytes, const Calibration& calibration);

/// Seconds of one decode step of a replica with `batch` sequences of mean context `context` on tp devices of
/// `kind`.
double decode_step(const cluster::DeviceKind& kind, const spec::ModelConfig& model, int32_t tp, double batch,
                   double context, double weight_bytes, const Calibration& calibration);

}  // namespace nereus::plan
