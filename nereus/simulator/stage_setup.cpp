#include "nereus/simulator/stage_setup.h"

#include <algorithm>
#include <span>

namespace nereus::simulator {

StageSetup::StageSetup(const WorldOptions& world, const Axes& axes, const cluster::Cluster& cluster,
                       const plan::Job& job, const plan::Placement& placement)
    : world_(world),
      job_(&job),
      placement_(&placement),
      model_(job.find(placement.what.role)),
      axes_(axes),
      size_(size_of(*model_)) {
  const auto& layout = placement.layout;
  for (int32_t p = 0; p < layout.pp; ++p)
    layers_.push_back(
        static_cast<double>(plan::layers_of_stage(model_->config.layers, layout.pp, p).count()));
  for (int32_t group = 0; group < layout.dp * layout.pp; ++group) {
    const auto devices = std::span(placement.devices)
                             .subspan(static_cast<size_t>(group * layout.tp), static_cast<size_t>(layout.tp));
    const auto slowest =
        std::ranges::min_element(devices, {}, [&](int32_t d) { return cluster.kind(d).flops; });
    const auto& slowest_kind = cluster.kind(*slowest);
    const auto known = std::ranges::find(kinds_, slowest_kind);
    kernel_of_.push_back(static_cast<size_t>(known - kinds_.begin()));
    if (known != kinds_.end()) continue;
    kinds_.push_back(slowest_kind);
    kernels_.emplace_back(world, slowest_kind, *model_, layout.tp, job.weight_bytes);
  }
}

double StageSetup::parameters(int32_t pipeline) const {
  const double ends = (pipeline == 0 ? size_.embedding : 0) + (last(pipeline) ? size_.head : 0);
  return (layers(pipeline) * size_.layer + ends) / placement_->layout.tp;
}

std::vector<double> StageSetup::slowness(const std::vector<double>& by_device) const {
  const auto tp = static_cast<size_t>(placement_->layout.tp);
  std::vector<double> slow(kernel_of_.size(), 0);
  for (size_t rank = 0; rank < placement_->devices.size(); ++rank)
    slow[rank / tp] = std::max(slow[rank / tp], by_device[static_cast<size_t>(placement_->devices[rank])]);
  return slow;
}

}  // namespace nereus::simulator
