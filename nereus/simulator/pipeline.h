#pragma once

#include <cstdint>
#include <vector>

namespace nereus::simulator {

/// Seconds of one micro-batch on one pipeline stage.
struct StageWork {
  double forward = 0, backward = 0;
};

/// A pipeline's micro-batches in the order in which they enter it: [micro-batches][stages].
using PipelineWork = std::vector<std::vector<StageWork>>;

/// Seconds until each stage has finished its last backward pass, under the 1F1B schedule (Narayanan et al.,
/// "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021): stage i of P
/// runs min(m, P - i) forward passes, then backward and forward in turn. `hop` is the time of a message from
/// a stage to its neighbour. REQUIRES: work not empty.
std::vector<double> one_forward_one_backward(const PipelineWork& work, double hop);

/// Seconds until the last stage has finished the last forward pass; backward times are not looked at.
double forward_only(const PipelineWork& work, double hop);

}  // namespace nereus::simulator
