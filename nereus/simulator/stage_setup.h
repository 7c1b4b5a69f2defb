#pragma once

#include <cstdint>
#include <vector>

#include "nereus/cluster/cluster.h"
#include "nereus/plan/plan.h"
#include "nereus/simulator/axis.h"
#include "nereus/simulator/batches.h"
#include "nereus/simulator/decoding.h"
#include "nereus/simulator/kernel_time.h"
#include "nereus/simulator/lengths.h"

namespace nereus::simulator {

/// What the stages of one placement share: its model, its groups' rates, the kernels of its devices. A
/// "group" is the tensor-parallel ranks of one replica and pipeline stage: number data * pp + pipeline.
/// Immutable.
class StageSetup {
 public:
  /// `axes`: axes_of the placement.
  StageSetup(const WorldOptions& world, const Axes& axes, const cluster::Cluster& cluster,
             const plan::Job& job, const plan::Placement& placement);

  const WorldOptions& world() const { return world_; }
  const plan::Job& job() const { return *job_; }
  const plan::Placement& placement() const { return *placement_; }
  const plan::Model& model() const { return *model_; }
  const Axes& axes() const { return axes_; }
  const ModelSize& size() const { return size_; }
  int32_t replicas() const { return placement_->layout.dp; }
  int32_t stages() const { return placement_->layout.pp; }
  bool last(int32_t pipeline) const { return pipeline + 1 == stages(); }
  double layers(int32_t pipeline) const { return layers_[static_cast<size_t>(pipeline)]; }
  double parameters(int32_t pipeline) const;  ///< of one tensor rank
  const KernelTime& kernel(int32_t group) const { return kernels_[kernel_of_[static_cast<size_t>(group)]]; }
  const cluster::DeviceKind& kind(int32_t group) const {
    return kinds_[kernel_of_[static_cast<size_t>(group)]];
  }
  /// Of each group: that of its slowest device. `by_device`: of the cluster's devices.
  std::vector<double> slowness(const std::vector<double>& by_device) const;

 private:
  WorldOptions world_;
  const plan::Job* job_;
  const plan::Placement* placement_;
  const plan::Model* model_;
  Axes axes_;
  ModelSize size_;
  std::vector<double> layers_;  ///< by pipeline stage
  std::vector<cluster::DeviceKind> kinds_;
  std::vector<KernelTime> kernels_;
  std::vector<size_t> kernel_of_;  ///< by group
};

/// Seconds of the stage; `slow` by group.
double train_seconds(const StageSetup& setup, const StageBatches& batches, const std::vector<double>& slow);
double infer_seconds(const StageSetup& setup, const StageBatches& batches, const std::vector<double>& slow);
/// Of the slowest replica. `kv_tokens`: room of its pool, by replica.
DecodingResult generate(const StageSetup& setup, const StepLengths& lengths, const std::vector<double>& slow,
                        const std::vector<double>& kv_tokens);

}  // namespace nereus::simulator
