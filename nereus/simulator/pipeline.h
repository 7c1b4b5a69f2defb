#pragma once

#include <cstddef>
#include <vector>

namespace nereus::simulator {

/// Seconds of one micro-batch on one pipeline stage.
struct StageWork {
  double forward = 0, backward = 0;
};

/// A pipeline's micro-batches in the order in which they enter it.
class PipelineWork {
 public:
  explicit PipelineWork(size_t stages) : stages_(stages) {}

  /// The next stage of the micro-batch at hand, or, after its last, the first of the next one.
  void add(StageWork work) { passes_.push_back(work); }
  void clear() { passes_.clear(); }
  size_t stages() const { return stages_; }
  size_t count() const { return passes_.size() / stages_; }  ///< micro-batches
  const StageWork& at(size_t micro_batch, size_t stage) const {
    return passes_[micro_batch * stages_ + stage];
  }

 private:
  size_t stages_;
  std::vector<StageWork> passes_;  ///< [micro-batches][stages]
};

/// Seconds until each stage has finished its last backward pass, under the 1F1B schedule (Narayanan et al.,
/// "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021): stage i of P
/// runs min(m, P - i) forward passes, then backward and forward in turn. `hop` is the time of a message from
/// a stage to its neighbour. REQUIRES: a micro-batch.
std::vector<double> one_forward_one_backward(const PipelineWork& work, double hop);

/// Seconds until the last stage has finished the last forward pass; backward times are not looked at.
double forward_only(const PipelineWork& work, double hop);

}  // namespace nereus::simulator
