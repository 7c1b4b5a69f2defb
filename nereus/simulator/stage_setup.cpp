#include "nereus/simulator/stage_setup.h"

#include <algorithm>
#include <numeric>

namespace nereus::simulator {

StageSetup::StageSetup(const WorldOptions& world, const Links& links, const cluster::Cluster& cluster,
                       const plan::Job& job, const plan::Placement& placement)
    : world_(world),
      job_(&job),
      placement_(&placement),
      model_(job.find(placement.what.role)),
      axes_(axes_of(links, world, placement)),
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

std::vector<std::vector<int32_t>> deal(std::span<const int32_t> lengths, int32_t hands) {
  std::vector<int32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
    return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
  });
  std::vector<std::vector<int32_t>> dealt(static_cast<size_t>(hands));
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t place = i % (2 * dealt.size());
    dealt[std::min(place, 2 * dealt.size() - 1 - place)].push_back(order[i]);
  }
  return dealt;
}

namespace {

/// Of the samples [first, last): [replicas][micro-batches].
std::vector<std::vector<MicroBatch>> micro_batches_of(const StageSetup& setup, const StepLengths& lengths,
                                                      int64_t first, int64_t last) {
  std::vector<int32_t> whole;
  for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i)
    whole.push_back(lengths.prompts[i] + lengths.responses[i]);
  std::vector<std::vector<MicroBatch>> result;
  for (const auto& hand : deal(whole, setup.replicas())) {
    std::vector<int32_t> own;
    for (const int32_t i : hand) own.push_back(whole[static_cast<size_t>(i)]);
    const auto each = static_cast<int32_t>(setup.placement().micro_batch);
    const auto count = (static_cast<int32_t>(own.size()) + each - 1) / each;
    auto& batches = result.emplace_back();
    for (const auto& members : deal(own, std::max(count, 1))) {
      MicroBatch batch;
      for (const int32_t i : members) {
        const auto sample = static_cast<size_t>(first) + static_cast<size_t>(hand[static_cast<size_t>(i)]);
        batch.work.add(own[static_cast<size_t>(i)]);
        batch.responses += lengths.responses[sample];
      }
      batches.push_back(batch);
    }
  }
  return result;
}

}  // namespace

StageBatches stage_batches(const StageSetup& setup, const StepLengths& lengths) {
  const auto samples = static_cast<int64_t>(lengths.responses.size());
  const bool trains = setup.placement().what.stage == plan::Stage::train;
  const int64_t count = trains ? std::min<int64_t>(setup.job().minibatches, samples) : 1;
  StageBatches batches;
  for (int64_t i = 0; i < count; ++i)
    batches.push_back(micro_batches_of(setup, lengths, samples * i / count, samples * (i + 1) / count));
  return batches;
}

}  // namespace nereus::simulator
